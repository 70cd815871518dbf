-- Gives the pieces of a refunded order back, once under this order's id.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
--       10 refunds
-- ARGV  1 order  2 user  3 quantity  4 admitted at (ms)  5 voucher  6 the database's epoch before the
--       order was read
-- Returns one of payment_codes.lua.
-- #include "payment_codes.lua"
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local refunds = KEYS[10]
local order, user, quantity, admitted, id, epoch = unpack(ARGV)
local rebuilt_in = tonumber(redis.call('HGET', voucher, 'epoch') or 0)
if rebuilt_in > tonumber(epoch) then return {OUTDATED, rebuilt_in} end
-- The database was caught up since the last rebuild, which may have counted this order as refunded: the next
-- rebuild counts it as the database has it.
if redis.call('HEXISTS', voucher, 'recount') == 1 then return {OUTDATED, 9007199254740991} end
local keeps = redis.call('HGET', refunds, order)
if keeps then return {DONE, tonumber(keeps), 0} end
local terms = read_open_terms(keys)
if not terms then return {VOUCHER_CLOSED} end
keeps = keeps_of(terms)
give_back(terms, keys, user, quantity, admitted)
redis.call('HSET', refunds, order, keeps)
local served = terms.restock and serve(terms, keys, id, 256, time_ms()) or 0
return {DONE, keeps, served == 256 and 1 or 0}
