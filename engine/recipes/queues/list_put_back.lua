-- KEYS  1 list  2 processing  3 consumers  ARGV  1 consumer  2 time without a call (ms)  3 the most
-- messages to put back
-- Returns the number put back, in front of the waiting ones; 0 if the consumer lives.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local seen = redis.call('ZSCORE', KEYS[3], ARGV[1])
if seen and now - seen < tonumber(ARGV[2]) then return 0 end
local count = 0
while count < tonumber(ARGV[3]) and redis.call('LMOVE', KEYS[2], KEYS[1], 'LEFT', 'RIGHT') do
  count = count + 1
end
if redis.call('LLEN', KEYS[2]) == 0 then redis.call('ZREM', KEYS[3], ARGV[1]) end
return count
