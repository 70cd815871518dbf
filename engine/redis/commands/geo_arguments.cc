#include "engine/redis/commands/geo_arguments.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_format.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/geo_errors.h"

namespace rushgate {
namespace {

double read_coordinate(Arguments& arguments) {
  const auto number = parse_double(arguments.next());
  if (!number) arguments.fail(errors::not_a_float());
  return number.value_or(0);
}

}  // namespace

GeoPosition read_position(Arguments& arguments) {
  const double longitude = read_coordinate(arguments);
  const double latitude = read_coordinate(arguments);
  if (!is_on_map({longitude, latitude}))
    arguments.fail(errors::invalid_position(longitude, latitude));
  return {longitude, latitude};
}

double read_unit_m(Arguments& arguments) {
  struct Unit {
    std::string_view name;
    double metres;
  };
  static constexpr Unit kUnits[] = {{"m", 1}, {"km", 1'000}, {"ft", 0.3048}, {"mi", 1'609.34}};
  const std::string_view name = arguments.next();
  for (const Unit& unit : kUnits) {
    if (is_keyword(name, unit.name)) return unit.metres;
  }
  arguments.fail(errors::unsupported_unit());
  return 1;
}

Reply position_reply(const CommandContext& context, const GeoPosition& position) {
  const auto coordinate = [&context](double degrees) {
    return context.resp3() ? Reply::decimal(degrees) : Reply::bulk(format_long_double(degrees));
  };
  return Reply::array({coordinate(position.longitude), coordinate(position.latitude)});
}

/// Rounds as Redis does: the product is rounded to an integer, a half to the even one.
Reply distance_reply(double distance) {
  constexpr std::int64_t kPerUnit = 10'000;
  const auto rounded =
      static_cast<std::int64_t>(std::nearbyint(distance * static_cast<double>(kPerUnit)));
  return Reply::bulk(absl::StrFormat("%d.%04d", rounded / kPerUnit, rounded % kPerUnit));
}

}  // namespace rushgate
