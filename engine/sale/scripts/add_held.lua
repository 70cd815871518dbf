-- #include "held_orders.lua"
-- #include "read_hold.lua"
-- luacheck: push ignore 211
local looked_up = 0

-- Adds the voucher and the held orders of a deadline, if there are any. Returns their number.
local function add_held(member, found)
  local its_orders = {''}
  for _, order in ipairs(orders_of(member)) do
    local hold = hold_of(KEYS[2], order)
    local its_voucher = hold and read_hold(hold)
    if its_voucher then
      its_orders[1] = its_voucher
      its_orders[#its_orders + 1] = order
    end
    looked_up = looked_up + 1
  end
  if #its_orders > 1 then found[#found + 1] = its_orders end
  return #its_orders - 1
end
-- luacheck: pop
