-- KEYS  1 free permits  2 permits that are held  3 channel. Returns the number that is free.
-- #include "semaphore_common.lua"

free_ended()
return tonumber(redis.call('GET', KEYS[1]) or 0)
