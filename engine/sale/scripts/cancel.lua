-- Ends the holds of orders of one voucher, and gives their pieces back as the voucher's terms say. Sells
-- them to waiting users.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 deadlines  6 held  7 stream  8 waiting  9 their orders
-- ARGV  1 voucher  2 only due orders (1/0)  3 reason  4 actor  5… orders
-- Returns one of payment_codes.lua for each order. {DONE, 1} says that more waiting users may be served.
-- #include "payment_codes.lua"
-- #include "read_hold.lua"
-- #include "serve.lua"
-- #include "voucher_keys.lua"

local id, only_due, reason, actor = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
local now = time_ms()
local terms = read_open_terms(keys)
local is_closed = not terms or redis.call('HEXISTS', held, 'closed:' .. id) == 1
local may_serve = 256 -- users, in one script

local function end_hold(order)
  local hold = hold_of(held, order)
  if not hold then return {NOT_HELD} end
  local its_voucher, user, quantity, _, admitted, deadline = read_hold(hold)
  if not its_voucher then return {HOLD_ENDED, hold} end
  if is_closed then return {VOUCHER_CLOSED} end
  if only_due and tonumber(deadline) > now then return {NOT_DUE} end
  if its_voucher ~= id then return {NOT_HELD} end
  local keeps = keeps_of(terms)
  append_entry(stream, now, 'event', 'cancelled', 'id', order, 'userId', user, 'voucherId', id,
               'keeps', keeps, 'reason', reason, 'actor', actor)
  give_back(terms, keys, user, quantity, admitted)
  set_hold(held, order, id .. ' ' .. user .. ' cancelled ' .. actor)
  if not terms.restock or terms.waiting == 0 then return {DONE} end
  may_serve = may_serve - serve(terms, keys, id, may_serve, now)
  return may_serve > 0 and {DONE} or {DONE, 1}
end

local replies = {}
for i = 5, #ARGV do replies[#replies + 1] = end_hold(ARGV[i]) end
return replies
