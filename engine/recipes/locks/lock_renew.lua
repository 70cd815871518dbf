-- Of a plain and of a fair lock.
--
-- KEYS  1 lock  ARGV  1 lease (ms)  2 owner
-- Returns 1 if the owner holds the lock, else 0.

if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
