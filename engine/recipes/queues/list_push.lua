-- KEYS list  ARGV  1 size_max  2 body. Returns 1, or 0 if the list is full.

if redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('LPUSH', KEYS[1], ARGV[2])
return 1
