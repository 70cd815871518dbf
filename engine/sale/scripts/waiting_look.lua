-- Looks at the waiting list at one moment.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- Returns {users, 1 if a waiting user could be served, the version in force or 0 if the voucher is closed
-- or lost}.
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local terms = read_open_terms(keys)
local users = redis.call('ZCARD', waiting)
if not terms or users == 0 then return {users, 0, terms and tonumber(terms.version) or 0} end
local now = time_ms()
local is_open = terms.waiting > 0 and not terms.serves_first and not refusal_of_time(terms, now)
return {users, is_open and not refusal_of_stock(terms, keys, 1) and 1 or 0, tonumber(terms.version)}
