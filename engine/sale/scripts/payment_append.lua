-- Appends the event of a payment that was acknowledged and lost.
--
-- KEYS  1 held  2 payments  3 stream
-- ARGV  1 payment  2 its value in payments  3 order  4 voucher  5 user  6 kind  7 amount
-- Returns 1 if it appended the event, else 0.
-- #include "held_orders.lua"
-- #include "read_hold.lua"

local held, payments, stream = unpack(KEYS)
local payment, known, order, voucher, user, kind, amount = unpack(ARGV)
if redis.call('HGET', payments, payment) ~= known then return 0 end
if redis.call('HEXISTS', held, 'closed:' .. voucher) == 1 then return 0 end
local entry = {'event', kind, 'id', order, 'userId', user, 'voucherId', voucher,
               'payment', payment, 'amount', amount}
local _, _, _, due_amount = read_hold(hold_of(held, order) or '')
local ends_hold = kind == 'paid' and due_amount == amount
if kind ~= 'paid' then
  entry[#entry + 1] = 'reason'
  entry[#entry + 1] = 'repaired'
end
redis.call('XADD', stream, '*', unpack(entry))
if ends_hold then set_hold(held, order, voucher .. ' ' .. user .. ' paid ' .. payment) end
return 1
