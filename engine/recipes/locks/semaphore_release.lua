-- KEYS  1 free permits  2 permits that are held  3 channel
-- ARGV  pairs of a permit and its id as Redisson 3.13 keeps it
-- Returns how many of them were held.
-- #include "semaphore_common.lua"

free_ended()
local released = 0
for i = 1, #ARGV, 2 do
  local removed = redis.call('ZREM', KEYS[2], ARGV[i])
  if removed == 0 then removed = redis.call('ZREM', KEYS[2], ARGV[i + 1]) end
  released = released + removed
end
if released > 0 then redis.call('PUBLISH', KEYS[3], redis.call('INCRBY', KEYS[1], released)) end
return released
