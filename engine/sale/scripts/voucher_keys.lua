-- The keys of one voucher, and those that all vouchers share. `orders` has the orders of waiting users.
-- luacheck: push ignore 211
local voucher, stock, buyers, days, deadlines, held, stream, waiting, orders = unpack(KEYS)
local keys = {voucher = voucher, stock = stock, buyers = buyers, days = days, deadlines = deadlines,
              held = held, stream = stream, waiting = waiting, orders = orders}
-- luacheck: pop
