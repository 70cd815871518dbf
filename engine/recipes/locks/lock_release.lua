-- KEYS  1 lock  2 token if the lock is fenced, channel, latch if there is one
-- ARGV  1 owner  2 lease (ms) if it stays held  3 with a latch: how long that stays (ms)
-- Returns 1 if the owner no longer holds it, 0 if it still does, nil if it did not.
-- #include "release_common.lua"

if redis.call('HEXISTS', KEYS[1], owner) == 0 then return false end
return end_hold(function() redis.call('PUBLISH', channel, '0') end)
