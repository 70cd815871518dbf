-- KEYS  1 permits  ARGV  1 permit  2 the new lease (ms), 0 to release the permit
-- Returns 1, or 0 if the permit has expired.

local lease = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = redis.call('ZSCORE', KEYS[1], ARGV[1])
if lease == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end
if not expires or tonumber(expires) <= now then return 0 end
if lease > 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), ARGV[1])
  if redis.call('PTTL', KEYS[1]) < lease then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
return 1
