-- As cache_fetch.lua, for a value with its expiry inside: "<ms since 1970>:<value>".
-- #include "cache_codes.lua"
-- #include "cache_sleep.lua"

local known = redis.call('GET', KEYS[1])
local colon = known and string.find(known, ':', 1, true)
local expires_at = colon and tonumber(string.sub(known, 1, colon - 1))
local value
if expires_at then
  value = string.sub(known, colon + 1)
  local time = redis.call('TIME')
  if time[1] * 1000 + math.floor(time[2] / 1000) < expires_at then return {VALUE, value} end
end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if value then return {OLD, value} end
  return {LOAD}
end
if value then return {REPLACED, value} end
return {WAIT, sleep_ms()}
