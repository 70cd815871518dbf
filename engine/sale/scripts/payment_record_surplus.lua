-- Records a payment that pays nothing: its order is paid or has ended.
--
-- KEYS  1 payments  2 stream  3 owner of the stream
-- ARGV  1 order  2 voucher  3 user  4 payment  5 amount  6 reason
-- Returns one of payment_codes.lua.
-- #include "known_payment.lua"

local order, voucher, user, payment, amount, reason = unpack(ARGV)
local owner = redis.call('HMGET', KEYS[3], 'identity', 'moved_to')
if not owner[1] or owner[2] then return {VOUCHER_CLOSED} end
local known = known_payment(KEYS[1], payment, order, amount)
if known then return known end
redis.call('XADD', KEYS[2], '*', 'event', 'surplus payment', 'id', order, 'userId', user,
           'voucherId', voucher, 'payment', payment, 'amount', amount, 'reason', reason)
redis.call('HSET', KEYS[1], payment, order .. ' ' .. amount .. ' surplus payment')
return {DONE}
