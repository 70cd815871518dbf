-- KEYS  1 lock  2 {<name>}  3 channel  [4 latch]
-- ARGV and reply as lock_release.lua.
-- #include "read_write_common.lua"
-- #include "release_common.lua"

if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
local holds = redis.call('HINCRBY', KEYS[1], owner, -1)
redis.call('DEL', read_key(owner, holds + 1))
if holds == 0 then redis.call('HDEL', KEYS[1], owner) end
set_read_leases(owner, holds, lease)
local is_free = false
if redis.call('HGET', KEYS[1], 'mode') == 'write' then
  if holds > 0 then last_at_least(lease) end
else
  local left = longest_read()
  is_free = left == 0
  if not is_free then redis.call('PEXPIRE', KEYS[1], left) end
end
if is_free then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', channel, '0')
end
return keep(holds > 0 and STILL_HELD or RELEASED)
