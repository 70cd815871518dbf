-- Ends holds by payments.
--
-- KEYS  1 held  2 payments  3 stream  4 orders of the dead letters
-- ARGV  order, payment, amount, of each payment
-- Returns one of payment_codes.lua for each, in their order.
--
-- The stream first: of all the keys, only its type has not been checked by a read.
-- #include "held_orders.lua"
-- #include "read_hold.lua"
-- #include "known_payment.lua"

local held, payments, stream, dead_orders = unpack(KEYS)

local function pay(order, payment, amount)
  local known = known_payment(payments, payment, order, amount)
  if known then return known end
  local hold = hold_of(held, order)
  if not hold then return {NOT_HELD} end
  local voucher, user, _, due_amount = read_hold(hold)
  if not voucher then return {HOLD_ENDED, hold} end
  if redis.call('HEXISTS', held, 'closed:' .. voucher) == 1 then return {VOUCHER_CLOSED, voucher} end
  local dead = redis.call('HGET', dead_orders, order)
  if dead then return {DEAD, dead} end
  if due_amount ~= amount then return {WRONG_AMOUNT, due_amount} end
  redis.call('XADD', stream, '*', 'event', 'paid', 'id', order, 'userId', user, 'voucherId', voucher,
             'payment', payment, 'amount', amount)
  redis.call('HSET', payments, payment, order .. ' ' .. amount .. ' paid')
  set_hold(held, order, voucher .. ' ' .. user .. ' paid ' .. payment)
  return {DONE}
end

local replies = {}
for i = 1, #ARGV, 3 do
  local done, reply = pcall(pay, ARGV[i], ARGV[i + 1], ARGV[i + 2])
  if not done and type(reply) ~= 'table' then reply = redis.error_reply(tostring(reply)) end
  replies[#replies + 1] = reply
end
return replies
