-- KEYS  1 waiting  2 their orders  ARGV  1 user. Returns 1 if the user waited, else 0.

redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
