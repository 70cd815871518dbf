-- ARGV  1 how many  2 visibility (ms)
-- Returns when the messages are due again; the time until the next one is due (ms), or -1; the last
-- entry of the wake stream; and for each message: id, body, number of deliveries.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local visible_at = now + ARGV[2]
local messages = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now),
                       'LIMIT', 0, ARGV[1])
for i, id in ipairs(due) do
  redis.call('ZADD', KEYS[1], string.format('%.0f', visible_at), id)
  local deliveries = redis.call('HINCRBY', KEYS[3], id, 1)
  messages[i] = {id, redis.call('HGET', KEYS[2], id) or '', deliveries}
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local next_ms = first[1] and math.max(0, first[2] - now) or -1
local wake = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
return {visible_at, next_ms, wake[1] and wake[1][1] or '0-0', messages}
