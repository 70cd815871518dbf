-- The first element of the replies of the scripts that publish and rebuild vouchers.
-- luacheck: push ignore 211
local DONE = 0
local REFUSED = 1           -- the new stock is below the sold number; {REFUSED, the difference}
local ALREADY_DONE = 2      -- this version, or a later one, is in force; {…, its values of the terms' fields}
local MISSING = 3           -- the voucher's stock, or all of it, is missing: rebuild
local BEING_REBUILT = 4     -- admission is closed by a rebuild
local LOST_THE_REBUILD = 5  -- another rebuild began
local TOO_MANY_BUYERS = 6   -- to be converted; {TOO_MANY_BUYERS, their number}
local ANOTHERS = 7          -- the keyspace belongs to another database
local UNCLAIMED = 8         -- it belongs to none: it lost all of its writes
local NEEDS_DAYS = 9        -- the limit per day needs the days of earlier purchases: rebuild
local FOREIGN = 10          -- another system made these keys; {FOREIGN, free, admitted}
local LOST_REQUESTS = 11    -- restore all idempotency keys first (lost_requests.h)
local LOST_ORDERS = 12      -- the database lacks orders that the stream no longer has (owner_close.lua)
-- luacheck: pop
