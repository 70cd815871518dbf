-- KEYS order stream, owner of the stream. ARGV group, identity
--
-- The group begins at the start of the stream: orders may have been admitted before any worker ran.
-- In a keyspace that lost its owner meanwhile, the stream would look like another system's.

if redis.call('HGET', KEYS[2], 'identity') ~= ARGV[2] then return 0 end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return made end
return 1
