-- KEYS  1 lock  2 {<name>}  3 channel  [4 latch]
-- ARGV and reply as lock_release.lua.
-- #include "read_write_common.lua"
-- #include "release_common.lua"

local field = owner .. ':write'
if redis.call('HEXISTS', KEYS[1], field) == 0 then return false end
if redis.call('HINCRBY', KEYS[1], field, -1) > 0 then
  set_write_lease(lease)
  return keep(STILL_HELD)
end
redis.call('HDEL', KEYS[1], field)
local left = longest_read()
if left > 0 then
  redis.call('HSET', KEYS[1], 'mode', 'read')
  redis.call('PEXPIRE', KEYS[1], left)
else
  redis.call('DEL', KEYS[1])
end
redis.call('PUBLISH', channel, '1')
return keep(RELEASED)
