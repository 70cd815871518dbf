-- KEYS  1 lock  2 {<name>}  ARGV  1 lease (ms)  2 owner
-- Returns 1 if the owner holds the lock for reading, else 0.
-- #include "read_write_common.lua"

local lease, owner = ARGV[1], ARGV[2]
local holds = tonumber(redis.call('HGET', KEYS[1], owner) or 0)
if holds == 0 then return 0 end
local is_shorter = redis.call('PTTL', read_key(owner, holds)) > tonumber(lease)
set_read_leases(owner, holds, lease)
if is_shorter and redis.call('HGET', KEYS[1], 'mode') == 'read' then
  redis.call('PEXPIRE', KEYS[1], longest_read())
else
  last_at_least(lease)
end
return 1
