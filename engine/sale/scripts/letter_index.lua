-- KEYS dead or discarded letters, index. ARGV kind, portion
--
-- Returns the number of letters that it read.
-- #include "letter_places.lua"

local from = '(' .. indexed_to(KEYS[2], ARGV[1])
local letters = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[2])
for _, letter in ipairs(letters) do note(KEYS[2], ARGV[1], letter[1], letter[2], true) end
return #letters
