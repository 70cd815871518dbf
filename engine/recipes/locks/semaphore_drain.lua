-- KEYS  1 free permits. Takes all of them, and returns their number.

local free = tonumber(redis.call('GET', KEYS[1]) or 0)
if free > 0 then redis.call('DECRBY', KEYS[1], free) end
return math.max(free, 0)
