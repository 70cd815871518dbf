-- KEYS  1 lock  2 queue  3 timeouts  4 channel
-- ARGV  1 owner  2 how long it was going to wait (ms)
-- Returns 1 if the owner was in the queue, else 0.
-- #include "fair_common.lua"

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
