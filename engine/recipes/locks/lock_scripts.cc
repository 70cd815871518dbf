#include "engine/recipes/locks/lock_scripts.h"

#include <string>

#include "engine/recipes/locks/lock_names.h"

namespace rushgate {
namespace {

// ---- Common to all releases ----

/// Returns the first result if the release is repeated, and keeps the result of this one.
constexpr char kReleasePrelude[] = R"lua(
local owner, lease, latch_ms = ARGV[1], ARGV[2], ARGV[3]
local channel = KEYS[latch_ms and #KEYS - 1 or #KEYS]
local latch = latch_ms and KEYS[#KEYS]
local known = latch and redis.call('GET', latch)
if known then return tonumber(known) end
local function keep(result)
  if latch then redis.call('SET', latch, result, 'PX', latch_ms) end
  return result
end
local function end_hold(on_free)
  if redis.call('HINCRBY', KEYS[1], owner, -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], lease)
    return keep(0)
  end
  redis.call('DEL', KEYS[1])
  on_free()
  return keep(1)
end
)lua";

// ---- ReentrantLock: KEYS the lock, its token if it is fenced, its channel ----

const Script& acquire_script() {
  static const Script script(R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
local token = 0
if KEYS[3] then token = redis.call('INCR', KEYS[2]) end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, token}
)lua");
  return script;
}

const Script& release_script() {
  static const Script script(std::string(kReleasePrelude) + R"lua(
if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
return end_hold(function() redis.call('PUBLISH', channel, '0') end)
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

// ---- FairLock: KEYS the lock, its queue, its timeouts, its channel ----

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
-- Wakes the first waiter that listens. Behind dead ones, it learns when their places end.
local function wake_first()
  local place = 0
  while true do
    local waiter = redis.call('LINDEX', KEYS[2], place)
    if not waiter or redis.call('PUBLISH', KEYS[4] .. ':' .. waiter, '0') > 0 then return end
    place = place + 1
  end
end
)lua";

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
  if is_free then wake_first() end
  return {1, 0}
end
local left = redis.call('PTTL', KEYS[1])
local pause = left
if first and first ~= owner then
  local place_left = math.ceil(redis.call('ZSCORE', KEYS[3], first) - now)
  pause = left < 0 and place_left or math.min(left, place_left)
end
if wait == 0 then return {0, pause} end
local score = redis.call('ZSCORE', KEYS[3], owner)
if score then
  if tonumber(score) < now + wait then set_score(owner, now + wait) end
  return {0, pause}
end
local last = redis.call('LINDEX', KEYS[2], -1)
local last_score = last and tonumber(redis.call('ZSCORE', KEYS[3], last) or now) or now
set_score(owner, math.max(last_score, now + math.max(left, 0)) + wait)
redis.call('RPUSH', KEYS[2], owner)
return {0, pause}
)lua");
  return script;
}

const Script& release_fair_script() {
  static const Script script(std::string(kFairPrelude) + kReleasePrelude + R"lua(
first_waiter()
if redis.call('HEXISTS', KEYS[1], owner) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then wake_first() end
  return false
end
return end_hold(wake_first)
)lua");
  return script;
}

// ---- ReadWriteLock: KEYS the lock, {<name>}, its channel ----

/// The lock lasts as long as its longest hold. A read hold has a key of its own, with its lease.
constexpr char kReadWritePrelude[] = R"lua(
local function read_key(reader, hold)
  return KEYS[2] .. ':' .. reader .. ':rwlock_timeout:' .. hold
end
local function longest_read()
  local longest = 0
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local reader = fields[i]
    if reader ~= 'mode' and string.sub(reader, -6) ~= ':write' then
      for hold = 1, tonumber(fields[i + 1]) do
        longest = math.max(longest, redis.call('PTTL', read_key(reader, hold)))
      end
    end
  end
  return longest
end
local function set_read_leases(reader, holds, lease)
  for hold = 1, holds do redis.call('SET', read_key(reader, hold), 1, 'PX', lease) end
end
local function last_at_least(lease)
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), lease))
end
local function set_write_lease(lease)
  redis.call('PEXPIRE', KEYS[1], math.max(longest_read(), lease))
end
)lua";

const Script& acquire_read_script() {
  static const Script script(std::string(kReadWritePrelude) + R"lua(
local lease, owner = ARGV[1], ARGV[2]
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode == 'write' and redis.call('HEXISTS', KEYS[1], owner .. ':write') == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end
local hold = redis.call('HINCRBY', KEYS[1], owner, 1)
redis.call('SET', read_key(owner, hold), 1, 'PX', lease)
last_at_least(lease)
return {1, 0}
)lua");
  return script;
}

const Script& release_read_script() {
  static const Script script(std::string(kReadWritePrelude) + kReleasePrelude + R"lua(
if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
local holds = redis.call('HINCRBY', KEYS[1], owner, -1)
redis.call('DEL', read_key(owner, holds + 1))
if holds == 0 then redis.call('HDEL', KEYS[1], owner) end
set_read_leases(owner, holds, lease)
local is_free = false
if redis.call('HGET', KEYS[1], 'mode') == 'write' then
  if holds > 0 then last_at_least(lease) end
else
  local left = longest_read()
  is_free = left == 0
  if not is_free then redis.call('PEXPIRE', KEYS[1], left) end
end
if is_free then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', channel, '0')
end
return keep(holds > 0 and 0 or 1)
)lua");
  return script;
}

const Script& renew_read_script() {
  static const Script script(std::string(kReadWritePrelude) + R"lua(
local lease, owner = ARGV[1], ARGV[2]
local holds = tonumber(redis.call('HGET', KEYS[1], owner) or 0)
if holds == 0 then return 0 end
local is_shorter = redis.call('PTTL', read_key(owner, holds)) > tonumber(lease)
set_read_leases(owner, holds, lease)
if is_shorter and redis.call('HGET', KEYS[1], 'mode') == 'read' then
  redis.call('PEXPIRE', KEYS[1], longest_read())
else
  last_at_least(lease)
end
return 1
)lua");
  return script;
}

const Script& acquire_write_script() {
  static const Script script(std::string(kReadWritePrelude) + R"lua(
local field = ARGV[2] .. ':write'
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], field) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('HSET', KEYS[1], 'mode', 'write')
redis.call('HINCRBY', KEYS[1], field, 1)
set_write_lease(ARGV[1])
return {1, 0}
)lua");
  return script;
}

const Script& release_write_script() {
  static const Script script(std::string(kReadWritePrelude) + kReleasePrelude + R"lua(
local field = owner .. ':write'
if redis.call('HEXISTS', KEYS[1], field) == 0 then return false end
if redis.call('HINCRBY', KEYS[1], field, -1) > 0 then
  set_write_lease(lease)
  return keep(0)
end
redis.call('HDEL', KEYS[1], field)
local left = longest_read()
if left > 0 then
  redis.call('HSET', KEYS[1], 'mode', 'read')
  redis.call('PEXPIRE', KEYS[1], left)
else
  redis.call('DEL', KEYS[1])
end
redis.call('PUBLISH', channel, '1')
return keep(1)
)lua");
  return script;
}

const Script& renew_write_script() {
  static const Script script(std::string(kReadWritePrelude) + R"lua(
if redis.call('HEXISTS', KEYS[1], ARGV[2] .. ':write') == 0 then return 0 end
set_write_lease(ARGV[1])
return 1
)lua");
  return script;
}

}  // namespace

const LockScripts& scripts_of(LockKind kind) {
  static const LockScripts plain = {acquire_script(), release_script(), renew_script()};
  static const LockScripts fair = {acquire_fair_script(), release_fair_script(), renew_script()};
  static const LockScripts read = {acquire_read_script(), release_read_script(),
                                   renew_read_script()};
  static const LockScripts write = {acquire_write_script(), release_write_script(),
                                    renew_write_script()};
  switch (kind) {
    case LockKind::kFair:
      return fair;
    case LockKind::kRead:
      return read;
    case LockKind::kWrite:
      return write;
    default:
      return plain;
  }
}

const Script& lock_state_script() {
  static const Script script(R"lua(
local is_locked = redis.call('EXISTS', KEYS[1])
if ARGV[2] and redis.call('HGET', KEYS[1], 'mode') ~= ARGV[2] then is_locked = 0 end
local holds = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
return {is_locked, holds, is_locked == 1 and redis.call('PTTL', KEYS[1]) or 0}
)lua");
  return script;
}

const Script& force_release_script(LockKind kind) {
  static const Script plain(R"lua(
local was_locked = redis.call('DEL', KEYS[1])
if was_locked == 1 then redis.call('PUBLISH', KEYS[#KEYS], '0') end
return was_locked
)lua");
  static const Script fair(std::string(kFairPrelude) + R"lua(
first_waiter()
local was_locked = redis.call('DEL', KEYS[1])
if was_locked == 1 then wake_first() end
return was_locked
)lua");
  static const Script side(R"lua(
if redis.call('HGET', KEYS[1], 'mode') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[3], '1')
return 1
)lua");
  if (kind == LockKind::kFair) return fair;
  return mode_of(kind).empty() ? plain : side;
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
if redis.call('EXISTS', KEYS[1]) == 0 then
  first_waiter()
  wake_first()
end
return 1
)lua");
  return script;
}

}  // namespace rushgate
