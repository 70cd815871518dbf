-- Writes a value and ends its load, if the load still has the lock.
--
-- KEYS  1 value  2 lock
-- ARGV  1 name of the load  2 channel  3 value  4 TTL (ms)  5 how long it is kept beyond that (ms; 0: no
--       expiry inside)
-- Returns 1, or 0 if nothing was written.

if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
local value, ttl, stale = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if stale > 0 then
  local time = redis.call('TIME')
  value = string.format('%.0f:', time[1] * 1000 + math.floor(time[2] / 1000) + ttl) .. value
end
redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', ttl + stale))
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[2], '1')
return 1
