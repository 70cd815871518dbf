-- KEYS  1 free permits  2 permits that are held  3 channel
-- ARGV  1 lease (ms; 0: none)  2… the permits, all or none
-- Returns {1, 0} if they are now held, else {0, how long until the next lease ends (ms), -1: none will}.
-- #include "semaphore_common.lua"

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
