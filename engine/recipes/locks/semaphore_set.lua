-- KEYS  1 free permits … channel  ARGV  1 number. Returns 1 if it was set, 0 if there is one.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('PUBLISH', KEYS[#KEYS], ARGV[1])
return 1
