-- Restores accepted requests of any vouchers under their idempotency keys.
--
-- KEYS  1 lost requests  2… the key of each request
-- ARGV  1 the loss  2 a name of the caller's own  3… record and last millisecond of each
-- A key that has a record was not lost, or is restored already.
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'loss') ~= ARGV[1] then return {LOST_THE_REBUILD} end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
for i = 2, #KEYS do
  redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'NX', 'PXAT', ARGV[2 * i])
end
return {DONE}
