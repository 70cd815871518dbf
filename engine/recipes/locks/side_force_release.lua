-- KEYS  1 lock  2 {<name>}  3 channel  ARGV  1 mode of the side
-- Returns 1 if any owner held this side, else 0.

if redis.call('HGET', KEYS[1], 'mode') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[3], '1')
return 1
