-- Writes holds of unpaid orders, and ends of holds.
--
-- KEYS  1 voucher  2 deadlines  3 held
-- ARGV  1 token  2… order, deadline (ms) or "", hold or "" for each
-- #include "voucher_codes.lua"
-- #include "held_orders.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
for i = 2, #ARGV, 3 do
  local order, deadline, hold = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if deadline ~= '' then redis.call('ZADD', KEYS[2], deadline, deadline_of({order})) end
  set_hold(KEYS[3], order, hold ~= '' and hold or nil)
end
return {DONE}
