#include "engine/commands/out_of_scope.h"

#include <algorithm>
#include <span>

#include "engine/commands/arguments.h"

namespace rushgate {
namespace {

constexpr std::string_view kGeo[] = {"geoadd",        "geodist",           "geohash",
                                     "geopos",        "georadius",         "georadius_ro",
                                     "geosearch",     "georadiusbymember", "georadiusbymember_ro",
                                     "geosearchstore"};
constexpr std::string_view kHyperLogLog[] = {"pfadd", "pfcount", "pfdebug", "pfmerge",
                                             "pfselftest"};
constexpr std::string_view kCluster[] = {"restore-asking"};
constexpr std::string_view kTracking[] = {"client|caching", "client|tracking",
                                          "client|trackinginfo"};

struct Part {
  std::string_view name;
  std::span<const std::string_view> commands;
};

constexpr Part kParts[] = {{"geospatial indexes", kGeo},
                           {"HyperLogLog", kHyperLogLog},
                           {"cluster", kCluster},
                           {"client tracking", kTracking}};

}  // namespace

std::string_view out_of_scope(std::string_view name) {
  for (const Part& part : kParts) {
    if (std::ranges::any_of(part.commands,
                            [&](std::string_view command) { return is_keyword(name, command); })) {
      return part.name;
    }
  }
  return {};
}

}  // namespace rushgate
