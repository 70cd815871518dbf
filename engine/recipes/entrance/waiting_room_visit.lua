-- KEYS  1 queue: users scored by their number  2 entered: users scored by when that ends (ms)
--       3 state: the last number given, and the time (us) at which the next user may enter
-- ARGV  1 user  2 users per second  3 burst  4 size_max  5 how long a user stays entered (ms)
--       6 the most users to admit
-- Returns ENTERED, FULL, or the position from 1 on of a user who waits.
local ENTERED = 0
local FULL = -1  -- size_max users wait already

local user, size_max, stay, portion = ARGV[1], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local interval = 1000000 / ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local function decimal(number) return string.format('%.0f', number) end

local expires = redis.call('ZSCORE', KEYS[2], user)
local has_entered = expires and tonumber(expires) > now_ms
local number = not has_entered and redis.call('ZSCORE', KEYS[1], user)
if not has_entered and not number then
  if redis.call('ZCARD', KEYS[1]) >= size_max then return FULL end
  number = redis.call('HINCRBY', KEYS[3], 'number', 1)
  redis.call('ZADD', KEYS[1], number, user)
end

-- Lets users in.
local burst = ARGV[3] * interval
local next_at = tonumber(redis.call('HGET', KEYS[3], 'next') or now)
if next_at > now + burst then  -- a clock that went back
  next_at = now + burst
  redis.call('HSET', KEYS[3], 'next', decimal(next_at))
end
next_at = math.max(next_at, now - burst + interval)
local count = math.min(portion, math.floor((now - next_at) / interval) + 1)
if count > 0 then
  local entering = redis.call('ZPOPMIN', KEYS[1], count)
  for i = 1, #entering, 2 do
    redis.call('ZADD', KEYS[2], decimal(now_ms + stay), entering[i])
    if entering[i] == user then has_entered = true end
  end
  if #entering > 0 then
    redis.call('HSET', KEYS[3], 'next', decimal(next_at + #entering / 2 * interval))
  end
end

-- Removes those that entered too long ago, twice as many as may enter in one call.
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', decimal(now_ms), 'LIMIT', 0, 2 * portion)
if #gone > 0 then redis.call('ZREM', KEYS[2], unpack(gone)) end

-- An empty room leaves no keys.
local lifetime = stay + math.ceil(burst / 1000)
if redis.call('ZCARD', KEYS[1]) > 0 then
  for i = 2, 3 do redis.call('PERSIST', KEYS[i]) end
else
  for i = 2, 3 do redis.call('PEXPIRE', KEYS[i], decimal(lifetime)) end
end

if has_entered then return ENTERED end
return redis.call('ZRANK', KEYS[1], user) + 1
