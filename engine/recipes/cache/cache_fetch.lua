-- Reads a value, or takes the lock for a load.
--
-- KEYS  1 value  2 lock  ARGV  1 name of a load  2 lease (ms)
-- Returns one of cache_codes.lua, with the value or how long to sleep.
-- #include "cache_codes.lua"
-- #include "cache_sleep.lua"

local value = redis.call('GET', KEYS[1])
if value then return {VALUE, value} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {LOAD} end
return {WAIT, sleep_ms()}
