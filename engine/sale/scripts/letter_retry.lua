-- KEYS dead letters, order stream, index, owner of the stream. ARGV id
-- Returns one of these.
local GONE = 0      -- no letter has this id (any more), or it has none of its order's fields
local DONE = 1      -- it is back in the order stream
local NO_STOCK = 2  -- it has no stock: a rebuild may give it some
local MOVED = 3     -- the sale was moved away, or is being moved

-- #include "letter_places.lua"

if redis.call('HEXISTS', KEYS[4], 'moved_to') == 1 then return MOVED end
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found or #found[2] <= 4 then return GONE end
if found[2][5] == 'no_stock' then return NO_STOCK end
local fields, admitted = found[2], false
for i = 5, #fields, 2 do admitted = admitted or fields[i] == 'admitted' end
local order = order_of(fields)
local is_noted = order and redis.call('HGET', KEYS[3], order) == 'dead ' .. ARGV[1]
local add = {'XADD', KEYS[2], '*', unpack(fields, 5)}
if not admitted then add[#add + 1] = 'admitted'; add[#add + 1] = fields[2] end
redis.call(unpack(add))
redis.call('XDEL', KEYS[1], ARGV[1])
if is_noted then redis.call('HDEL', KEYS[3], order) end
return DONE
