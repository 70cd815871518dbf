-- Appends an order that is in no stream any more.
--
-- KEYS  1 voucher  2 stream  3 dead letters  4 their orders
-- ARGV  1 token  2 letter or ""  3 order  4… fields and values
-- The letter goes with the entry, so that the order is in one place.
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
local letter, order = ARGV[2], ARGV[3]
local place = redis.call('HGET', KEYS[4], order)
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
if letter ~= '' then
  redis.call('XDEL', KEYS[3], letter)
  if place == 'dead ' .. letter then redis.call('HDEL', KEYS[4], order) end
end
return {DONE}
