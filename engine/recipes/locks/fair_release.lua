-- KEYS  1 lock  2 queue  3 timeouts  4 channel  [5 latch]
-- ARGV and reply as lock_release.lua.
-- #include "fair_common.lua"
-- #include "release_common.lua"

first_waiter()
if redis.call('HEXISTS', KEYS[1], owner) == 0 then
  if redis.call('EXISTS', KEYS[1]) == 0 then wake_first() end
  return false
end
return end_hold(wake_first)
