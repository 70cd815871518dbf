-- KEYS dead letters, index. ARGV entry, reason, field, value, …
-- #include "letter_places.lua"

local was_whole = is_whole(KEYS[1], KEYS[2], 'dead')
local fields = {unpack(ARGV, 3)}
local letter = redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1], 'reason', ARGV[2], 'no_stock', 1,
                          unpack(fields))
note(KEYS[2], 'dead', letter, fields, was_whole)
return 1
