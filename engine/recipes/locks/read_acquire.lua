-- KEYS  1 lock  2 {<name>}  3 channel
-- ARGV  1 lease (ms)  2 owner
-- Returns {1, 0}, or {0, how long the lock lasts (ms)}.
-- #include "read_write_common.lua"

local lease, owner = ARGV[1], ARGV[2]
local mode = redis.call('HGET', KEYS[1], 'mode')
if mode == 'write' and redis.call('HEXISTS', KEYS[1], owner .. ':write') == 0 then
  return {0, redis.call('PTTL', KEYS[1])}
end
if not mode then redis.call('HSET', KEYS[1], 'mode', 'read') end
local hold = redis.call('HINCRBY', KEYS[1], owner, 1)
redis.call('SET', read_key(owner, hold), 1, 'PX', lease)
last_at_least(lease)
return {1, 0}
