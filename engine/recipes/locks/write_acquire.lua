-- KEYS  1 lock  2 {<name>}  3 channel
-- ARGV  1 lease (ms)  2 owner
-- Returns {1, 0}, or {0, how long the lock lasts (ms)}.
-- #include "read_write_common.lua"

local field = ARGV[2] .. ':write'
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], field) == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
redis.call('HSET', KEYS[1], 'mode', 'write')
redis.call('HINCRBY', KEYS[1], field, 1)
set_write_lease(ARGV[1])
return {1, 0}
