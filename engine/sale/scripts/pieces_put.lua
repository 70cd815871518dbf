-- Puts pieces into a lane that another one gave, as far as they are not there yet.
--
-- KEYS  1 voucher  2 stock
-- ARGV  1 the other lane  2 the pieces that it gave in all
-- Returns {DONE, the pieces put}, or another one of voucher_codes.lua.
-- #include "voucher_codes.lua"

if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return {REBUILDING} end
if redis.call('EXISTS', KEYS[2]) == 0 or redis.call('HEXISTS', KEYS[1], 'version') == 0 then return {MISSING} end
local from = 'from:' .. ARGV[1]
local pieces = tonumber(ARGV[2]) - tonumber(redis.call('HGET', KEYS[1], from) or 0)
if pieces <= 0 then return {DONE, 0} end
redis.call('HINCRBY', KEYS[1], from, string.format('%.0f', pieces))
redis.call('HINCRBY', KEYS[1], 'moved', string.format('%.0f', pieces))
redis.call('INCRBY', KEYS[2], string.format('%.0f', pieces))
return {DONE, pieces}
