-- Looks at the waiting list at one moment.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- Returns {users, 1 if a waiting user could be served, the version in force or 0 if the voucher is closed
-- or lost}.
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local terms = read_terms(voucher, stock)
local users = redis.call('ZCARD', waiting)
if not terms or users == 0 then return {users, 0, terms and tonumber(terms.version) or 0} end
local now = time_ms()
local is_open = terms.waiting > 0 and not terms.serves_first and now >= terms.begins and now < terms.ends
local is_free = tonumber(redis.call('GET', stock)) > 0 and not is_total_reached(terms, keys)
return {users, is_open and is_free and 1 or 0, tonumber(terms.version)}
