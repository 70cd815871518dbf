#include <array>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

// KEYS  1 queue: users scored by their number  2 entered: users scored by when that ends (ms)
//       3 state: the last number given, and the time (us) at which the next user may enter
// ARGV  1 user  2 users per second  3 burst  4 size_max  5 how long a user stays entered (ms)
//       6 the most users to admit
// Returns 0 if the user has entered. Returns the position from 1 on if the user waits, -1 if the
// queue is full.
const Script& visit_script() {
  static const Script* const kScript = new Script(R"lua(
local user, size_max, stay, portion = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local interval = 1000000 / ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local function decimal(number) return string.format('%.0f', number) end

local expires = redis.call('ZSCORE', KEYS[2], user)
local has_entered = expires and tonumber(expires) > now_ms
local number = not has_entered and redis.call('ZSCORE', KEYS[1], user)
if not has_entered and not number then
  if redis.call('ZCARD', KEYS[1]) >= size_max then return -1 end
  number = redis.call('HINCRBY', KEYS[3], 'number', 1)
  redis.call('ZADD', KEYS[1], number, user)
end

-- Lets users in.
local burst = ARGV[3] * interval
local next_at = tonumber(redis.call('HGET', KEYS[3], 'next') or now)
if next_at > now + burst then  -- a clock that went back
  next_at = now + burst
  redis.call('HSET', KEYS[3], 'next', decimal(next_at))
end
next_at = math.max(next_at, now - burst + interval)
local count = math.min(portion, math.floor((now - next_at) / interval) + 1)
if count > 0 then
  local entering = redis.call('ZPOPMIN', KEYS[1], count)
  for i = 1, #entering, 2 do
    redis.call('ZADD', KEYS[2], decimal(now_ms + stay), entering[i])
    if entering[i] == user then has_entered = true end
  end
  if #entering > 0 then
    redis.call('HSET', KEYS[3], 'next', decimal(next_at + #entering / 2 * interval))
  end
end

-- Removes those that entered too long ago, twice as many as may enter in one call.
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', decimal(now_ms), 'LIMIT', 0, 2 * portion)
if #gone > 0 then redis.call('ZREM', KEYS[2], unpack(gone)) end

-- An empty room leaves no keys.
local lifetime = stay + math.ceil(burst / 1000)
if redis.call('ZCARD', KEYS[1]) > 0 then
  for i = 2, 3 do redis.call('PERSIST', KEYS[i]) end
else
  for i = 2, 3 do redis.call('PEXPIRE', KEYS[i], decimal(lifetime)) end
end

if has_entered then return 0 end
return redis.call('ZRANK', KEYS[1], user) + 1
)lua");
  return *kScript;
}

std::array<std::string, 3> keys_of(std::string_view prefix, std::string_view name) {
  return {concat(prefix, "{", name, "}:queue"), concat(prefix, "{", name, "}:entered"),
          concat(prefix, "{", name, "}:state")};
}

}  // namespace

absl::StatusOr<std::unique_ptr<WaitingRoom>> WaitingRoom::create(Backend& backend,
                                                                 WaitingRoomOptions options) {
  OptionRanges ranges("waiting room");
  ranges.check("per_second", options.per_second, 1, kPerSecondMax)
      .check("burst", options.burst, 1, kPerSecondMax)
      .check("size_max", options.size_max, 1, kSizeMax)
      .check("entered_ms", options.entered_ms, 1, kEnteredMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  return std::unique_ptr<WaitingRoom>(new WaitingRoom(backend, std::move(options)));
}

WaitingRoom::WaitingRoom(Backend& backend, WaitingRoomOptions options)
    : options_(std::move(options)), client_(backend.open_client(options_.client)) {}

absl::StatusOr<WaitingRoom::Place> WaitingRoom::visit(std::string_view name, std::int64_t user) {
  const std::array<std::string, 3> names = keys_of(options_.key_prefix, name);
  const std::string numbers[] = {concat(user),
                                 concat(options_.per_second),
                                 concat(options_.burst),
                                 concat(options_.size_max),
                                 concat(options_.entered_ms),
                                 concat(kPortion)};
  const std::string_view keys[] = {names[0], names[1], names[2]};
  const std::string_view arguments[] = {numbers[0], numbers[1], numbers[2],
                                        numbers[3], numbers[4], numbers[5]};
  const Reply position = client_->run(visit_script(), keys, arguments);
  if (!position.is_integer()) return to_status(position, "visiting a waiting room");
  if (position.integer() < 0) {
    return absl::ResourceExhaustedError(
        concat("waiting room ", name, ": ", options_.size_max, " users wait already"));
  }
  return Place{.has_entered = position.integer() == 0,
               .position = position.integer(),
               .wait_ms = (position.integer() * kMsPerSecond + options_.per_second - 1) /
                          options_.per_second};
}

absl::Status WaitingRoom::leave(std::string_view name, std::int64_t user) {
  const std::array<std::string, 3> names = keys_of(options_.key_prefix, name);
  const std::string member = concat(user);
  const Request requests[] = {Request::of("ZREM", names[0], member),
                              Request::of("ZREM", names[1], member)};
  for (const Reply& reply : client_->pipeline(requests)) {
    if (!reply.is_integer()) return to_status(reply, "leaving a waiting room");
  }
  return absl::OkStatus();
}

}  // namespace rushgate
