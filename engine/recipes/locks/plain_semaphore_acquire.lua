-- KEYS  1 free permits  ARGV  1 number. Returns {1, 0} if they are taken, else {0, -1}.

if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then return {0, -1} end
redis.call('DECRBY', KEYS[1], ARGV[1])
return {1, 0}
