-- KEYS  1 lock  2 queue  3 timeouts  4 channel. Returns 1 if any owner held it, else 0.
-- #include "fair_common.lua"

first_waiter()
local was_locked = redis.call('DEL', KEYS[1])
if was_locked == 1 then wake_first() end
return was_locked
