-- KEYS owner of the stream, order stream. ARGV as of lease.lua, then the group and the entries. A
-- keyspace that lost its owner has lost the entries, too.
-- #include "lease.lua"

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local other = find_other_copy()
if other then return other end
return redis.call('XACK', KEYS[2], ARGV[8], unpack(ARGV, 9))
