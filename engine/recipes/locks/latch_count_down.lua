-- Lowers the count. KEYS the count, the channel. Returns the count.

local left = redis.call('DECR', KEYS[1])
if left <= 0 then redis.call('DEL', KEYS[1]) end
if left == 0 then redis.call('PUBLISH', KEYS[2], '0') end
return left
