-- Ends the restoring of all requests.
--
-- KEYS  1 lost requests  ARGV  1 the loss  2 the caller's name  3 the number of its portions
-- A keyspace that was rolled back may have kept the loss and lost some of the portions.
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'loss') ~= ARGV[1] then return {LOST_THE_REBUILD} end
if (redis.call('HGET', KEYS[1], ARGV[2]) or '0') ~= ARGV[3] then return {LOST_THE_REBUILD} end
redis.call('DEL', KEYS[1])
return {DONE}
