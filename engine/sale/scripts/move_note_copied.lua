-- Notes that everything is copied: waiting users may be served from here on. KEYS owner of the stream. ARGV the
-- mark of a keyspace in which a sale arrives. Returns 1, or 0 in any other keyspace.

if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'copied', 1)
return 1
