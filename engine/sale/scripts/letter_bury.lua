-- KEYS order stream, dead letters, faults, index.
-- ARGV group, entry, reason, voucher and id of SeenEnds or "", remove the entry (1/0), field, value, …
-- #include "letter_places.lua"

-- Returns true if an order of the voucher was cancelled after the entry `seen`, or may have been.
local function may_have_ended(voucher, seen)
  local later = redis.call('XRANGE', KEYS[1], '(' .. seen, '+', 'COUNT', 1000)
  for _, entry in ipairs(later) do
    local event, its_voucher
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'event' then event = entry[2][i + 1] end
      if entry[2][i] == 'voucherId' then its_voucher = entry[2][i + 1] end
    end
    if event == 'cancelled' and its_voucher == voucher then return true end
  end
  return #later == 1000
end

-- The copy first: a script that fails half-way keeps what it did.
if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then return 0 end
if ARGV[4] ~= '' and may_have_ended(ARGV[4], ARGV[5]) then return 0 end
local was_whole = is_whole(KEYS[2], KEYS[4], 'dead')
local fields = {unpack(ARGV, 7)}
local letter = redis.call('XADD', KEYS[2], '*', 'entry', ARGV[2], 'reason', ARGV[3], unpack(fields))
note(KEYS[4], 'dead', letter, fields, was_whole)
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
if ARGV[6] == '1' then redis.call('XDEL', KEYS[1], ARGV[2]) end
redis.call('HDEL', KEYS[3], ARGV[2])
return 1
