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
local terms = read_open_terms(keys)
if not terms then return {LIST_CLOSED} end
if terms.waiting == 0 then return {NO_LIST} end
local now = time_ms()
if refusal_of_time(terms, now) then return {NOT_ON_SALE} end
if refusal_of_user(terms, keys, user, 1, now) then return {MAY_NOT_BUY} end
local size = redis.call('ZCARD', waiting)
if size == 0 and not refusal_of_stock(terms, keys, 1) then return {IS_FREE} end
if size >= terms.waiting then return {LIST_FULL} end
local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2] or 0
redis.call('ZADD', waiting, string.format('%.0f', last + 1), user)
redis.call('HSET', orders, user, order)
return {JOINED, order, size + 1}
