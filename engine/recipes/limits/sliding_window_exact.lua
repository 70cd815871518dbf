-- KEYS  1 window
-- ARGV  1 maximum  2 its length (us)
-- The window is a sorted set: for each grant a member "<us since 1970>:<number>", scored by the
-- time. Returns {granted, remaining, us until the oldest grant has left the window}.
-- native_exact() does the same.

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
