-- KEYS  1 lock  2 {<name>}  ARGV  1 lease (ms)  2 owner
-- Returns 1 if the owner holds the lock for writing, else 0.
-- #include "read_write_common.lua"

if redis.call('HEXISTS', KEYS[1], ARGV[2] .. ':write') == 0 then return 0 end
set_write_lease(ARGV[1])
return 1
