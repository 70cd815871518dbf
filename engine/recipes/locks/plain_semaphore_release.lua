-- KEYS  1 free permits  2 channel  ARGV  1 number. Returns the number that is free.

local free = redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[2], free)
return free
