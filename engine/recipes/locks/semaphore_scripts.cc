#include "engine/recipes/locks/semaphore_scripts.h"

#include <string>

namespace rushgate {
namespace {

/// Frees the permits whose lease has ended. (Redisson's score of a permit without a lease is a
/// number that no clock reaches.)
constexpr char kPrelude[] = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local never = 922337203685477
local function free_ended()
  while true do
    local ended = redis.call('ZRANGEBYSCORE', KEYS[2], 0, string.format('%.0f', now), 'LIMIT', 0, 1000)
    if #ended == 0 then return end
    redis.call('ZREM', KEYS[2], unpack(ended))
    local free = redis.call('INCRBY', KEYS[1], #ended)
    if free > 0 then redis.call('PUBLISH', KEYS[3], free) end
  end
end
)lua";

}  // namespace

const Script& acquire_permits_script() {
  static const Script script(std::string(kPrelude) + R"lua(
free_ended()
if redis.call('ZSCORE', KEYS[2], ARGV[2]) then return {1, 0} end
local count = #ARGV - 1
if tonumber(redis.call('GET', KEYS[1]) or 0) >= count then
  redis.call('DECRBY', KEYS[1], count)
  local lease = tonumber(ARGV[1])
  local ends = string.format('%.0f', lease > 0 and now + lease or never)
  for i = 2, #ARGV do redis.call('ZADD', KEYS[2], ends, ARGV[i]) end
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 then redis.call('PEXPIRE', KEYS[2], left) end
  return {1, 0}
end
local next_end = tonumber(redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] or never)
return {0, next_end < never and next_end - now or -1}
)lua");
  return script;
}

const Script& acquire_count_script() {
  static const Script script(R"lua(
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then return {0, -1} end
redis.call('DECRBY', KEYS[1], ARGV[1])
return {1, 0}
)lua");
  return script;
}

const Script& release_count_script() {
  static const Script script(R"lua(
local free = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[2], free)
return free
)lua");
  return script;
}

const Script& drain_script() {
  static const Script script(R"lua(
local free = tonumber(redis.call('GET', KEYS[1]) or 0)
if free > 0 then redis.call('DECRBY', KEYS[1], free) end
return math.max(free, 0)
)lua");
  return script;
}

const Script& release_permits_script() {
  static const Script script(std::string(kPrelude) + R"lua(
free_ended()
local released = 0
for i = 1, #ARGV, 2 do
  local removed = redis.call('ZREM', KEYS[2], ARGV[i])
  if removed == 0 then removed = redis.call('ZREM', KEYS[2], ARGV[i + 1]) end
  released = released + removed
end
if released > 0 then redis.call('PUBLISH', KEYS[3], redis.call('INCRBY', KEYS[1], released)) end
return released
)lua");
  return script;
}

const Script& set_permits_script() {
  static const Script script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[#KEYS], ARGV[1])
return 1
)lua");
  return script;
}

const Script& free_permits_script() {
  static const Script script(std::string(kPrelude) + R"lua(
free_ended()
return tonumber(redis.call('GET', KEYS[1]) or 0)
)lua");
  return script;
}

}  // namespace rushgate
