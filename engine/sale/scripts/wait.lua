-- Adds a user to the waiting list. A user keeps the place and the order of the first call.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- ARGV  1 voucher  2 user  3 the order that the user will get
-- Returns one of waiting_codes.lua.
-- #include "waiting_codes.lua"
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local user, order = ARGV[2], ARGV[3]
local known = redis.call('HGET', orders, user)
if known and redis.call('ZSCORE', waiting, user) then
  return {WAITS_ALREADY, known, redis.call('ZRANK', waiting, user) + 1}
end
if redis.call('EXISTS', voucher) == 0 then return {NO_SUCH_VOUCHER} end
local terms = read_terms(voucher, stock)
if not terms then return {LIST_CLOSED} end
if terms.waiting == 0 then return {NO_LIST} end
local now = time_ms()
if now < terms.begins or now >= terms.ends then return {NOT_ON_SALE} end
if not allowance_of(terms, keys, user, now) then return {MAY_NOT_BUY} end
local size = redis.call('ZCARD', waiting)
local is_sold_out = tonumber(redis.call('GET', stock)) < 1 or is_total_reached(terms, keys)
if size == 0 and not is_sold_out then return {IS_FREE} end
if size >= terms.waiting then return {LIST_FULL} end
local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2] or 0
redis.call('ZADD', waiting, string.format('%.0f', last + 1), user)
redis.call('HSET', orders, user, order)
return {JOINED, order, size + 1}
