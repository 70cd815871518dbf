-- A payment that is not stored yet: the reply for the same one; nil if there is none.
-- #include "payment_codes.lua"
-- luacheck: push ignore 211
local function known_payment(payments, payment, order, amount)
  local known = redis.call('HGET', payments, payment)
  if not known then return nil end
  local its_order, its_amount, kind = string.match(known, '^(%d+) (%d+) (.+)$')
  if its_order ~= order or its_amount ~= amount then return {ID_REUSED, its_order .. ' ' .. its_amount} end
  return {REPEATED, kind}
end
-- luacheck: pop
