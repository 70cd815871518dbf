-- Sells free pieces to users that wait for them, in the order of their arrival.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- ARGV  1 voucher  2 the most users
-- Returns the number of users served or dropped.
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local terms = read_open_terms(keys)
if not terms then return 0 end
return serve(terms, keys, ARGV[1], tonumber(ARGV[2]), time_ms())
