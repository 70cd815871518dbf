-- Appends the event of a hold that ended, if the hold still counts as ended in this way.
--
-- KEYS  1 held  2 stream  ARGV  1 order  2 its end  3… fields and values. Returns 1 if it did, else 0.
-- #include "held_orders.lua"

if hold_of(KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
return 1
