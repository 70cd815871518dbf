-- Removes the value, and ends a load.
--
-- KEYS  1 value  2 lock  ARGV  1 channel  2 channel of invalidations  3 key

redis.call('DEL', KEYS[1])
if redis.call('DEL', KEYS[2]) == 1 then redis.call('PUBLISH', ARGV[1], '0') end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1
