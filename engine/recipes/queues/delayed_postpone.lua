-- ARGV  1 id  2 visible_at  3 ms from now.
-- Returns when it is due (ms since 1970), or GONE.
local GONE = -1  -- it was removed or taken again meanwhile

local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) ~= tonumber(ARGV[2]) then return GONE end
local time = redis.call('TIME')
due = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
if due < tonumber(first[2]) then
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'due', string.format('%.0f', due))
end
return due
