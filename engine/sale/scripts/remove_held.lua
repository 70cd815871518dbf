-- KEYS  1 held  ARGV  orders. Removes them, and returns how many there were.
-- #include "held_orders.lua"

local removed = 0
for _, order in ipairs(ARGV) do
  if hold_of(KEYS[1], order) then
    set_hold(KEYS[1], order, nil)
    removed = removed + 1
  end
end
return removed
