-- Notes the payments of a batch that is stored now, and forgets batches that were stored long ago.
--
-- KEYS  1 payments  2 stored payments
-- ARGV  1 payment ids separated by spaces, or ""  2 how long to keep them (ms)  3 the most batches to forget
-- Returns the number of batches that it forgot. An id may have any byte but a space.
-- #include "entry_time.lua"

local payments, stored = KEYS[1], KEYS[2]
local ids, keep_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local function forget(batch)
  local gone = {}
  for id in string.gmatch(batch, '[^ ]+') do gone[#gone + 1] = id end
  redis.call('HDEL', payments, unpack(gone))
end
if ids ~= '' and type(redis.pcall('XADD', stored, '*', 'ids', ids)) == 'table' then forget(ids) end
local now = time_ms()
local old = redis.call('XRANGE', stored, '-', string.format('%.0f', now - keep_ms - 1), 'COUNT', most)
for _, batch in ipairs(old) do
  forget(batch[2][2])
  redis.call('XDEL', stored, batch[1])
end
return #old
