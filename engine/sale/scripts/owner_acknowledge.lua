-- KEYS owner of the stream, order stream. ARGV as of lease.lua (the batch of the entries), the group, the
-- entries. A keyspace that lost its owner has lost the entries, too.
-- #include "lease.lua"
-- #include "marks.lua"
local CAUGHT_UP = -1  -- the database was caught up since the batch was drawn: the entries come again

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local other = find_other_copy()
if other then return other end
if not tell_recorded() then return CAUGHT_UP end
local acknowledged = redis.call('XACK', KEYS[2], ARGV[10], unpack(ARGV, 11))
note_progress(owner, KEYS[2])
return acknowledged
