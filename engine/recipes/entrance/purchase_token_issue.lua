-- KEYS  1 the user's token of the item: "<token>", or "<token> used"
-- ARGV  1 a new token  2 how long it is valid (ms)
-- Returns the user's present token.

local token = redis.call('GET', KEYS[1])
if token then return string.match(token, '^%S+') end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
