-- Ends a move: anybody may open the sale here.
--
-- KEYS owner of the stream, owner of the prefix. ARGV the mark of a keyspace in which a sale arrives, identity
-- Returns 1, or 0 in any other keyspace.

local present = redis.call('HGET', KEYS[1], 'identity')
if present == ARGV[2] then return 1 end
if present ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'identity', ARGV[2])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HDEL', KEYS[1], 'copied')
return 1
