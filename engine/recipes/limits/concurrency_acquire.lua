-- KEYS  1 permits: a sorted set, each scored by its expiry (ms since 1970)
-- ARGV  1 maximum  2 lease (ms)  3 the new permit
-- Returns 0 if the permit was granted, else the time until the next one expires (ms, at least 1).

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = string.format('%.0f', now + ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
  local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return math.max(1, next[2] - now)
end
redis.call('ZADD', KEYS[1], expires, ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
