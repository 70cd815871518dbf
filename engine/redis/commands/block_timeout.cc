#include "engine/redis/commands/block_timeout.h"

#include <cmath>
#include <optional>

#include "engine/core/base/numbers.h"
#include "engine/core/base/time_units.h"
#include "engine/redis/commands/errors.h"

namespace rushgate {

std::int64_t read_timeout_seconds(Arguments& arguments, std::string_view seconds) {
  constexpr long double kTooLong = 0x1p63L;
  const std::optional<long double> number = parse_long_double(seconds);
  if (!number) {
    arguments.fail(errors::timeout_not_a_float());
    return 0;
  }
  const long double ms = std::ceil(*number * static_cast<long double>(kMsPerSecond));
  // In Redis, an overflow becomes a negative number.
  if (ms < 0 || ms >= kTooLong) {
    arguments.fail(errors::negative_timeout());
    return 0;
  }
  return static_cast<std::int64_t>(ms);
}

}  // namespace rushgate
