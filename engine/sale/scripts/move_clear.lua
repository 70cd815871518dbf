-- Removes keys of a sale that left, before it comes back.
--
-- KEYS owner of the stream, other keys. ARGV the mark of a keyspace that was left. Returns 1, or 0 in any other
-- keyspace.

if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
