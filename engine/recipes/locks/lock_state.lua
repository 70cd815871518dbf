-- KEYS  1 lock
-- ARGV  1 the owner's field  [2 mode, for one side of a read-write lock]
-- Returns {1 if any owner holds the lock, the holds of the owner, how long the lock lasts (ms; -1: for
-- ever)}.

local is_locked = redis.call('EXISTS', KEYS[1])
if ARGV[2] and redis.call('HGET', KEYS[1], 'mode') ~= ARGV[2] then is_locked = 0 end
local holds = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0)
return {is_locked, holds, is_locked == 1 and redis.call('PTTL', KEYS[1]) or 0}
