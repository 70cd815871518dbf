-- Buries an order for which a rebuild found no stock. One that has lost its claim found that in a keyspace which is
-- lost since: there may be stock now.
--
-- KEYS dead letters, index, voucher. ARGV token of the rebuild, entry, reason, field, value, …
-- #include "letter_places.lua"

if redis.call('HGET', KEYS[3], 'closed') ~= ARGV[1] then return 0 end
local was_whole = is_whole(KEYS[1], KEYS[2], 'dead')
local fields = {unpack(ARGV, 4)}
local letter = redis.call('XADD', KEYS[1], '*', 'entry', ARGV[2], 'reason', ARGV[3], 'no_stock', 1,
                          unpack(fields))
note(KEYS[2], 'dead', letter, fields, was_whole)
return 1
