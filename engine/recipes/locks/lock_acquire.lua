-- KEYS  1 lock  2 token if the lock is fenced  #KEYS channel
-- ARGV  1 lease (ms)  2 owner
-- Returns {1, token} if the owner now holds it (0: no token), else {0, how long the lock lasts (ms), -1:
-- for ever}.

if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
local token = 0
if KEYS[3] then token = redis.call('INCR', KEYS[2]) end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, token}
