-- KEYS  1 list  2 processing  3 consumers  ARGV  1 consumer  2 how many  3 size_max
-- Returns the messages, oldest first, or FULL.
local FULL = 0  -- size_max messages are not done

local time = redis.call('TIME')
redis.call('ZADD', KEYS[3], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), ARGV[1])
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[3]) then return FULL end
local messages = {}
for i = 1, tonumber(ARGV[2]) do
  local message = redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT')
  if not message then break end
  messages[i] = message
end
return messages
