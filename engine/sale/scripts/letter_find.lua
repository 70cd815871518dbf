-- KEYS dead letters, discarded letters, index. ARGV order
--
-- Returns the kind of letter and the letter, or one of these.
local NONE = 0
local NOT_INDEXED = 1  -- some letters are not indexed

-- #include "letter_places.lua"

local place = redis.call('HGET', KEYS[3], ARGV[1])
if place then
  local kind, letter = string.match(place, '^(%a+) (%d+%-%d+)$')
  local found = letter and redis.call('XRANGE', kind == 'dead' and KEYS[1] or KEYS[2], letter, letter)[1]
  if found and order_of(found[2]) == ARGV[1] then return {kind, found} end
  redis.call('HDEL', KEYS[3], ARGV[1])
end
local has_all = is_whole(KEYS[1], KEYS[3], 'dead') and is_whole(KEYS[2], KEYS[3], 'discarded')
return has_all and NONE or NOT_INDEXED
