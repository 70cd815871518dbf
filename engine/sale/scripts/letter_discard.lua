-- KEYS dead letters, discarded letters, index, owner of the stream. ARGV id, why
local MOVED = -1  -- the sale was moved away, or is being moved
-- #include "letter_places.lua"

if redis.call('HEXISTS', KEYS[4], 'moved_to') == 1 then return MOVED end
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found then return 0 end
local was_whole = is_whole(KEYS[2], KEYS[3], 'discarded')
local letter = redis.call('XADD', KEYS[2], '*', 'dead', ARGV[1], 'why', ARGV[2], unpack(found[2]))
note(KEYS[3], 'discarded', letter, found[2], was_whole)
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
