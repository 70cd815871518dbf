-- Restores accepted requests under their idempotency keys.
--
-- KEYS  1 voucher  2… the key of each request
-- ARGV  1 token  2 the voucher's id  3… record and last millisecond of each
-- A key of another voucher stays that voucher's. GET fails on a key of another type, which SET
-- replaces.
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
for i = 2, #KEYS do
  local known = redis.pcall('GET', KEYS[i])
  local its_voucher = type(known) == 'string' and string.match(known, '^[^ ]+ (%-?%d+)') or ARGV[2]
  if its_voucher == ARGV[2] then
    redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'PXAT', ARGV[2 * i])
  end
end
return {DONE}
