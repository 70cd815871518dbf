-- Copies users of a waiting list to a keyspace in which a sale arrives.
--
-- KEYS owner of the stream, waiting, their orders. ARGV the mark of such a keyspace, then of each user: place,
-- user, order
-- Returns 1, or 0 in any other keyspace.

if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
if redis.call('HEXISTS', KEYS[1], 'copied') == 1 then return 0 end
for i = 2, #ARGV, 3 do
  redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i + 1])
  redis.call('HSET', KEYS[3], ARGV[i + 1], ARGV[i + 2])
end
return 1
