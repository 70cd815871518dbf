-- KEYS  1 lock  2 queue  3 timeouts  4 channel
-- ARGV  1 lease (ms)  2 owner  3 how long the owner will wait (ms; 0: it does not queue)
-- Returns {1, 0}, or {0, how long to pause (ms), -1: until a message}.
-- #include "fair_common.lua"

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
