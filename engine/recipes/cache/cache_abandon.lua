-- Ends a load without a value. KEYS  1 lock  ARGV  1 name of the load  2 channel

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '0')
return 1
