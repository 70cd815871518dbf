-- Removes every entry below the lowest one that some group has yet to read or acknowledge. KEYS
-- stream
-- #include "first_needed.lua"

local first = first_needed(KEYS[1])
return first and redis.call('XTRIM', KEYS[1], 'MINID', '=', first) or 0
