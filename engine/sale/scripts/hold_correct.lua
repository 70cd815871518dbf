-- Corrects the hold of an unpaid order, and sets its deadline. The hold has to be as it was read. Nothing
-- may end it while a rebuild checks it.
--
-- KEYS  1 held  2 deadlines  ARGV  1 order  2 its hold as it was read  3 its right hold  4 deadline (ms)
-- Returns 1 if it did that, else 0.
-- #include "held_orders.lua"

local order, present, right, due = unpack(ARGV)
if hold_of(KEYS[1], order) ~= present then return 0 end
if redis.call('HEXISTS', KEYS[1], 'closed:' .. string.match(right, '^%d+')) == 1 then return 0 end
redis.call('ZADD', KEYS[2], due, deadline_of({order}))
set_hold(KEYS[1], order, right)
return 1
