-- Takes free pieces out of a lane, for another one.
--
-- KEYS  as of pieces_put.lua
-- ARGV  1 the other lane  2 the most pieces
-- Returns {DONE, the pieces taken}, or another one of voucher_codes.lua.
-- #include "voucher_codes.lua"

if redis.call('HEXISTS', KEYS[1], 'closed') == 1 then return {BEING_REBUILT} end
local stock = redis.call('GET', KEYS[2])
if not stock or redis.call('HEXISTS', KEYS[1], 'version') == 0 then return {MISSING} end
local pieces = math.min(tonumber(stock), tonumber(ARGV[2]))
if pieces <= 0 then return {DONE, 0} end
-- A voucher that lacks pieces is unsold, one that has too many is oversold: the stock first.
redis.call('DECRBY', KEYS[2], string.format('%.0f', pieces))
redis.call('HINCRBY', KEYS[1], 'moved', string.format('%.0f', -pieces))
redis.call('HINCRBY', KEYS[1], 'to:' .. ARGV[1], string.format('%.0f', pieces))
return {DONE, pieces}
