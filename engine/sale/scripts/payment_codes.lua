-- The first element of the replies about payments and the ends of holds.
-- luacheck: push ignore 211
local DONE = 0
local REPEATED = 1        -- this payment is known: {REPEATED, "paid" or "surplus payment"}
local ID_REUSED = 2       -- the payment id came with another order or amount: {…, "<order> <amount>"}
local WRONG_AMOUNT = 3    -- {WRONG_AMOUNT, the amount that is due}
local HOLD_ENDED = 4      -- the hold ended before, and that is not stored yet: {HOLD_ENDED, its end}
local NOT_HELD = 5        -- the keyspace knows nothing of this order
local VOUCHER_CLOSED = 6  -- its voucher is closed by a rebuild, or lost
local NOT_DUE = 7         -- its payment is not due yet
local SERVES = 8          -- only of the native cancel(): run cancel_serving() instead
local OUTDATED = 9        -- the voucher was rebuilt after the order was read: {OUTDATED, the epoch of that}
local DEAD = 10           -- the order is a dead letter: {DEAD, SaleKeys::dead_letter_orders()}
-- luacheck: pop
