-- Frees the permits whose lease has ended. (Redisson's score of a permit without a lease is a
-- number that no clock reaches.)
-- luacheck: push ignore 211
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local never = 922337203685477
local function free_ended()
  while true do
    local ended = redis.call('ZRANGEBYSCORE', KEYS[2], 0, string.format('%.0f', now), 'LIMIT', 0, 1000)
    if #ended == 0 then return end
    redis.call('ZREM', KEYS[2], unpack(ended))
    local free = redis.call('INCRBY', KEYS[1], #ended)
    if free > 0 then redis.call('PUBLISH', KEYS[3], free) end
  end
end
-- luacheck: pop
