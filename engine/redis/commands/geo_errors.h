// All error messages of the geo commands, word for word as in Redis 7.0.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "engine/redis/commands/errors.h"
#include <rushgate/reply.h>

namespace rushgate::errors {

inline Reply invalid_position(double longitude, double latitude) {
  return Reply::error(
      absl::StrFormat("ERR invalid longitude,latitude pair %f,%f", longitude, latitude));
}
inline Reply unsupported_unit() {
  return Reply::error("ERR unsupported unit provided. please use M, KM, FT, MI");
}
/// `what` is the name of the length.
inline Reply not_numeric(std::string_view what) {
  return Reply::error("ERR need numeric " + std::string(what));
}
inline Reply negative_radius() { return Reply::error("ERR radius cannot be negative"); }
inline Reply negative_box() { return Reply::error("ERR height or width cannot be negative"); }
inline Reply no_such_member() { return Reply::error("ERR could not decode requested zset member"); }
inline Reply any_without_count() {
  return Reply::error("ERR the ANY argument requires COUNT argument");
}
/// `what` is the command or the option that stores.
inline Reply store_excludes_with(std::string_view what) {
  return Reply::error("ERR " + std::string(what) +
                      " is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
}
inline Reply no_centre(std::string_view command) {
  return Reply::error("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " +
                      std::string(as_c_string(command)));
}
inline Reply no_shape(std::string_view command) {
  return Reply::error("ERR exactly one of BYRADIUS and BYBOX can be specified for " +
                      std::string(as_c_string(command)));
}

}  // namespace rushgate::errors
