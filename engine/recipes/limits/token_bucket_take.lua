-- KEYS  1 bucket
-- ARGV  1 tokens  2 capacity  3 how long an empty bucket takes to be full (us)
-- The bucket is "<us since 1970> <time until it was full, from then on, in us>"; none: full.
-- Returns {granted, remaining, us until it can be granted}. native_take() does the same.

local tokens, capacity, refill = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local at, missing = now, 0
local bucket = redis.call('GET', KEYS[1])
if bucket then
  local known_at, known_missing = string.match(bucket, '^(%d+) (%S+)$')
  at, missing = tonumber(known_at), tonumber(known_missing)
  if not at or not missing then return redis.error_reply('ERR not a token bucket: ' .. KEYS[1]) end
  missing = math.min(refill, math.max(0, missing - math.max(0, now - at)))
end

local cost = tokens * refill / capacity
local wait = missing + cost - refill
local granted = wait < 0.001 and 1 or 0
if granted == 1 then
  missing = missing + cost
  wait = 0
end
if granted == 1 or at > now then
  redis.call('SET', KEYS[1], string.format('%.0f %.17g', now, missing),
             'PX', string.format('%.0f', math.ceil(missing / 1000) + 1))
end
local remaining = math.floor((refill - missing) * capacity / refill + 0.001)
return {granted, remaining, math.ceil(wait)}
