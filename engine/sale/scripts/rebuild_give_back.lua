-- Gives the claim of a rebuild back that has failed. The voucher stays closed, and the next rebuild may begin at
-- once. A late request of this one fails, as after any other loss of the claim.
--
-- KEYS  1 voucher  ARGV  1 token
-- #include "rebuild_claim.lua"
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
redis.call('HSET', KEYS[1], 'closed', GIVEN_BACK)
return {DONE}
