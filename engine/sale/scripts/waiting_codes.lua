-- The first element of the reply of wait.lua.
-- luacheck: push ignore 211
local JOINED = 0           -- {JOINED, its order, its place}
local WAITS_ALREADY = 1    -- {WAITS_ALREADY, its order, its place}
local LIST_FULL = 2
local NO_LIST = 3          -- the voucher has no waiting list
local NOT_ON_SALE = 4      -- not started, or ended
local MAY_NOT_BUY = 5      -- the user may not buy any more
local LIST_CLOSED = 6      -- its voucher is closed by a rebuild, or lost
local NO_SUCH_VOUCHER = 7  -- the keyspace does not know it
local IS_FREE = 8          -- pieces are free: buy one
-- luacheck: pop
