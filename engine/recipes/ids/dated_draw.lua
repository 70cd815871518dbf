-- Draws counters. Returns the last counter drawn, or OTHER_DAY, and the second.
-- KEYS the counter of a day, the second of the last possible loss.
-- ARGV how many, the greatest counter of the day that the caller knows, the least second, the
-- first second of the day, the first one after it, 1 if the draw may follow a loss, the value of a
-- counter that is missing or below the known one.
local OTHER_DAY = -1

local now = tonumber(redis.call('TIME')[1])
local drawn = redis.call('GET', KEYS[1])
local is_lost = not drawn or tonumber(drawn) < tonumber(ARGV[2])
local loss = tonumber(redis.call('GET', KEYS[2])) or 0
local follows_loss = is_lost or ARGV[6] == '1'
if follows_loss and loss < now then loss = now end
local second = math.max(now, loss + 1, tonumber(ARGV[3]))
if second < tonumber(ARGV[4]) or second >= tonumber(ARGV[5]) then return {OTHER_DAY, second} end
if follows_loss then redis.call('SET', KEYS[2], string.format('%.0f', loss), 'PX', 2000) end
if is_lost then redis.call('SET', KEYS[1], ARGV[7]) end
return {redis.call('INCRBY', KEYS[1], ARGV[1]), second}
