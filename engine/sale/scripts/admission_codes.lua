-- The replies of an admission. The first three codes are those of the systems that Rushgate's users
-- migrate from.
-- luacheck: push ignore 211
local ACCEPTED = 0
local SOLD_OUT = 1
local LIMIT_REACHED = 2      -- this user's, over the whole sale
local DAY_LIMIT_REACHED = 3  -- this user's, today
local NOT_STARTED = 4
local ENDED = 5
local UNKNOWN_VOUCHER = 6    -- the keyspace has no such voucher
local KEY_REUSED = 7         -- the idempotency key came with another user or voucher before
local STOCK_MISSING = 8      -- the voucher is known, but its stock is lost: it must be rebuilt
local REBUILDING = 9         -- admission is closed by a rebuild
local SERVES_FIRST = 10      -- waiting users must be served first
local TOKEN_REFUSED = 11     -- the purchase token is missing, wrong or spent
-- luacheck: pop
