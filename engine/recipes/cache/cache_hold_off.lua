-- Keeps the lock of a failed load for a while. KEYS  1 lock  ARGV  1 name of the load  2 how long (ms)

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
