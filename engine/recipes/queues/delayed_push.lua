-- ARGV  1 id  2 body  3 ms  4 'at': since 1970, 'in': from now  5 size_max
-- Returns PUSHED, FULL or KNOWN.
local PUSHED = 1
local FULL = 0    -- size_max messages wait
local KNOWN = -1  -- the id exists

local due = tonumber(ARGV[3])
if ARGV[4] == 'in' then
  local time = redis.call('TIME')
  due = due + time[1] * 1000 + math.floor(time[2] / 1000)
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return KNOWN end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) then return FULL end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
if not first[1] or due < tonumber(first[2]) then
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'due', string.format('%.0f', due))
end
return PUSHED
