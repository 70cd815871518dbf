-- What cache_fetch.lua and cache_fetch_with_expiry.lua return first.
-- luacheck: push ignore 211
local VALUE = 0     -- {VALUE, value}
local LOAD = 1      -- {LOAD}: the caller has the lock, and loads
local WAIT = 2      -- {WAIT, how long to sleep without a message (ms)}: another caller loads
local OLD = 3       -- {OLD, value}: it is old, and the caller has the lock
local REPLACED = 4  -- {REPLACED, value}: it is old, and another caller replaces it
-- luacheck: pop
