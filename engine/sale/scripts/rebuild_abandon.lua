-- Gives a rebuild up, and leaves no key of the voucher.
--
-- KEYS  1 voucher  2 held  ARGV  1 token  2 its id
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], 'closed:' .. ARGV[2])
return {DONE}
