-- KEYS  1 processing  2 consumers  ARGV  1 consumer  2… messages.
-- Returns the number found. LREM begins with the oldest: most often that is the message.

local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), ARGV[1])
local removed = 0
for i = 2, #ARGV do removed = removed + redis.call('LREM', KEYS[1], -1, ARGV[i]) end
return removed
