-- Begins to move a sale away. From here on, this keyspace belongs to the move alone: nobody can claim it,
-- rebuild a voucher or acknowledge an entry.
--
-- KEYS owner of the stream, owner of the prefix. ARGV identity, the mark of a keyspace that is being left, where
-- the sale goes. Returns 1 if the keyspace is or was this sale's, else 0.

local present = redis.call('HGET', KEYS[1], 'identity')
if present ~= ARGV[1] and present ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'identity', ARGV[2], 'moved_to', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2])
return 1
