-- Puts pieces into a lane that another one gave, as far as they are not there yet, and sells them to waiting
-- users.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- ARGV  1 the other lane  2 the pieces that it gave in all  3 voucher
-- Returns {DONE, the pieces put}, or another one of voucher_codes.lua.
-- #include "voucher_codes.lua"
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local terms = read_terms(keys)
if terms.closed then return {BEING_REBUILT} end
if not terms.is_known or redis.call('EXISTS', stock) == 0 then return {MISSING} end
local from = 'from:' .. ARGV[1]
local pieces = tonumber(ARGV[2]) - tonumber(redis.call('HGET', voucher, from) or 0)
if pieces <= 0 then return {DONE, 0} end
redis.call('HINCRBY', voucher, from, string.format('%.0f', pieces))
redis.call('HINCRBY', voucher, 'moved', string.format('%.0f', pieces))
redis.call('INCRBY', stock, string.format('%.0f', pieces))
if terms.waiting > 0 then serve(terms, keys, ARGV[3], 256, time_ms()) end
return {DONE, pieces}
