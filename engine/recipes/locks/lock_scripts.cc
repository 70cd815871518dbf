#include "engine/recipes/locks/lock_scripts.h"

#include <string>

namespace rushgate {

const Script& acquire_script() {
  static const Script script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
local token = 0
if KEYS[2] then token = redis.call('INCR', KEYS[2]) end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, token}
)lua");
  return script;
}

const Script& release_script() {
  static const Script script(R"lua(
local known = KEYS[3] and redis.call('GET', KEYS[3])
if known then return tonumber(known) end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return false end
local is_free = 0
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  is_free = 1
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], '0')
end
if KEYS[3] then redis.call('SET', KEYS[3], is_free, 'PX', ARGV[3]) end
return is_free
)lua");
  return script;
}

const Script& renew_script() {
  static const Script script(R"lua(
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
)lua");
  return script;
}

// ---- FairLock ----

namespace {

/// For scripts whose KEYS are the lock, the queue, the timeouts, and the channel if they wake.
constexpr char kFairPrelude[] = R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function first_waiter()
  while true do
    local first = redis.call('LINDEX', KEYS[2], 0)
    if not first then return nil end
    if tonumber(redis.call('ZSCORE', KEYS[3], first) or 0) > now then return first end
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], first)
  end
end
local function set_score(waiter, score)
  redis.call('ZADD', KEYS[3], string.format('%.0f', score), waiter)
end
local function wake(waiter)
  if waiter then redis.call('PUBLISH', KEYS[4] .. ':' .. waiter, '0') end
end
)lua";

}  // namespace

const Script& acquire_fair_script() {
  static const Script script(std::string(kFairPrelude) + R"lua(
local owner, wait = ARGV[2], tonumber(ARGV[3])
local is_free = redis.call('EXISTS', KEYS[1]) == 0
local first = first_waiter()
if is_free and (not first or first == owner) then
  if first then
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], owner)
  end
  for _, waiter in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
    redis.call('ZINCRBY', KEYS[3], -wait, waiter)
  end
end
if is_free and (not first or first == owner) or redis.call('HEXISTS', KEYS[1], owner) == 1 then
  redis.call('HINCRBY', KEYS[1], owner, 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return {1, 0}
end
local left = redis.call('PTTL', KEYS[1])
if wait == 0 then return {0, left} end
local score = redis.call('ZSCORE', KEYS[3], owner)
if score then
  if tonumber(score) < now + wait then set_score(owner, now + wait) end
  return {0, left}
end
local last = redis.call('LINDEX', KEYS[2], -1)
local last_score = last and tonumber(redis.call('ZSCORE', KEYS[3], last) or now) or now
set_score(owner, math.max(last_score, now + math.max(left, 0)) + wait)
redis.call('RPUSH', KEYS[2], owner)
return {0, left}
)lua");
  return script;
}

const Script& release_fair_script() {
  static const Script script(std::string(kFairPrelude) + R"lua(
local known = KEYS[5] and redis.call('GET', KEYS[5])
if known then return tonumber(known) end
local first = first_waiter()
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then wake(first) end
  return false
end
local is_free = 0
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  is_free = 1
  redis.call('DEL', KEYS[1])
  wake(first)
end
if KEYS[5] then redis.call('SET', KEYS[5], is_free, 'PX', ARGV[3]) end
return is_free
)lua");
  return script;
}

const Script& leave_queue_script() {
  static const Script script(std::string(kFairPrelude) + R"lua(
local was_queued = false
for _, waiter in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if was_queued then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[2]), waiter) end
  was_queued = was_queued or waiter == ARGV[1]
end
if not was_queued then return 0 end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('LREM', KEYS[2], 0, ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then wake(first_waiter()) end
return 1
)lua");
  return script;
}

}  // namespace rushgate
