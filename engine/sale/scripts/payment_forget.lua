-- KEYS  1 payments  ARGV  1 payment  2 its value. Returns 1 if it removed it, else 0.

if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
