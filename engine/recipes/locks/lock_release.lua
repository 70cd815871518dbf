-- KEYS  1 lock  2 token if the lock is fenced, channel, latch if there is one
-- ARGV  1 owner  2 lease (ms) if it stays held  3 with a latch: how long that stays (ms)
-- Returns one of release_common.lua, or nil if the owner did not hold the lock.
-- #include "release_common.lua"

if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
return end_hold(function() redis.call('PUBLISH', channel, '0') end)
