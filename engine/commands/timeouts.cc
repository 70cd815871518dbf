#include "engine/commands/timeouts.h"

#include <cmath>

#include "engine/base/numbers.h"
#include "engine/commands/sorted_set_errors.h"

namespace rushgate {

std::int64_t read_timeout_ms(Arguments& arguments, std::string_view seconds) {
  constexpr long double kMsPerSecond = 1'000;
  constexpr long double kLimitMs = 9'223'372'036'854'775'808.0L;  // 2^63
  const auto timeout = parse_long_double(seconds);
  if (!timeout) {
    arguments.fail(errors::timeout_not_a_float());
    return 0;
  }
  const long double ms = std::ceil(*timeout * kMsPerSecond);
  if (ms < 0 || ms >= kLimitMs) {  // to Redis, what is too large is negative
    arguments.fail(errors::timeout_is_negative());
    return 0;
  }
  return static_cast<std::int64_t>(ms);
}

}  // namespace rushgate
