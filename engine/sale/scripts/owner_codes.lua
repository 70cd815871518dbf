-- The replies about the owner of a keyspace.
-- luacheck: push ignore 211
local OURS = 0
local LOST = 1      -- of this database or of none, without the database's checkpoint
local ANOTHERS = 2  -- it belongs to another database
local FOREIGN = 3   -- another system made the order stream
local BEHIND = 4    -- of this database, which has lost batches that it had recorded, or epochs that it had begun
-- luacheck: pop
