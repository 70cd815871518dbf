-- KEYS owner of the stream. ARGV as of lease.lua
-- #include "lease.lua"
local LOST = -1      -- the keyspace has lost its writes
local ANOTHERS = -2  -- it belongs to another database

local of_stream = redis.call('HGET', owner, 'identity')
if not of_stream then return LOST end
if of_stream ~= identity then return ANOTHERS end
local other = find_other_copy()
if other then return other end
tell_recorded()
return redis.call('HINCRBY', owner, 'checkpoint', 1)
