-- A hold (SaleKeys::held()), or its end.
-- luacheck: push ignore 211
-- Returns voucher, user, quantity, amount, time of the admission and deadline; nil for an end.
local function read_hold(text)
  return string.match(text, '^(%d+) ([^ ]+) (%d+) (%d+) (%d+) (%d+)$')
end
-- luacheck: pop
