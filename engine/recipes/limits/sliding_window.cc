#include "engine/recipes/limits/sliding_window.h"

#include <utility>

#include "absl/status/status.h"
#include "engine/base/concat.h"
#include "engine/client/script.h"

namespace rushgate {
namespace {

// KEYS  1 window
// ARGV  1 maximum  2 its length (us)
// The window is a sorted set: for each grant a member "<us since 1970>:<number>", scored by the
// time. Returns {granted, remaining, us until the oldest grant has left the window}.
const Script& exact_script() {
  static const Script* const kScript = new Script(R"lua(
local maximum, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - length))

-- A clock that went back: what it granted later than now was granted now, at the latest.
local later = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')
for _, grant in ipairs(later) do redis.call('ZADD', KEYS[1], string.format('%.0f', now), grant) end

local count = redis.call('ZCARD', KEYS[1])
if count >= maximum then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, 0, oldest[2] + length - now}
end
local at, number = string.format('%.0f', now), count
while redis.call('ZADD', KEYS[1], 'NX', at, at .. ':' .. number) == 0 do number = number + 1 end
redis.call('PEXPIRE', KEYS[1], math.ceil(length / 1000))
return {1, maximum - count - 1, 0}
)lua");
  return *kScript;
}

// KEYS and ARGV as exact_script(). The window is a hash: the number of the window that `current`
// counts, and the count of the one before. Returns {granted, remaining, us until one more is
// granted if no other call is}.
const Script& approximate_script() {
  static const Script* const kScript = new Script(R"lua(
local maximum, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = math.floor(now / length)

local known = redis.call('HMGET', KEYS[1], 'window', 'current', 'previous')
local before, current, previous = tonumber(known[1]), tonumber(known[2] or 0), tonumber(known[3] or 0)
if before and before < window then
  previous = before == window - 1 and current or 0
  current = 0
elseif before and before > window then  -- a clock that went back: from here on
  redis.call('HSET', KEYS[1], 'window', string.format('%.0f', window))
end

local elapsed = now - window * length
local count = previous * (length - elapsed) / length + current
if count + 1 > maximum + 0.000001 then
  local wait = length - elapsed
  if current + 1 <= maximum then  -- in this window, as the one before it fades
    wait = math.min(wait, (length - elapsed) - (maximum - current - 1) * length / previous)
  else  -- in the next one, as this one fades
    wait = wait + length - (maximum - 1) * length / current
  end
  return {0, 0, math.max(1, math.ceil(wait))}
end
redis.call('HSET', KEYS[1], 'window', string.format('%.0f', window), 'current', current + 1,
           'previous', previous)
redis.call('PEXPIRE', KEYS[1], math.ceil(2 * length / 1000))
return {1, math.floor(maximum - count - 1), 0}
)lua");
  return *kScript;
}

absl::Status out_of_range(std::string_view what, std::int64_t value, std::int64_t maximum) {
  return absl::InvalidArgumentError(
      concat("sliding window: ", what, " is ", value, ", and must be from 1 to ", maximum));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlidingWindow>> SlidingWindow::create(Backend& backend,
                                                                     SlidingWindowOptions options) {
  const std::int64_t maximum_max =
      options.kind == SlidingWindowOptions::Kind::kExact ? kExactMaximumMax : kMaximumMax;
  if (options.maximum < 1 || options.maximum > maximum_max) {
    return out_of_range("the maximum", options.maximum, maximum_max);
  }
  if (options.window_ms < 1 || options.window_ms > kWindowMsMax) {
    return out_of_range("window_ms", options.window_ms, kWindowMsMax);
  }
  return std::unique_ptr<SlidingWindow>(new SlidingWindow(backend, std::move(options)));
}

SlidingWindow::SlidingWindow(Backend& backend, SlidingWindowOptions options)
    : options_(std::move(options)),
      maximum_(concat(options_.maximum)),
      window_us_(concat(options_.window_ms * 1'000)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<Permission> SlidingWindow::take(std::string_view name) {
  const std::string key = concat(options_.key_prefix, name);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {maximum_, window_us_};
  const Script& script =
      options_.kind == SlidingWindowOptions::Kind::kExact ? exact_script() : approximate_script();
  return to_permission(client_->run(script, keys, arguments), "taking of a sliding window");
}

}  // namespace rushgate
