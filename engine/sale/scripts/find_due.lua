-- Finds holds that are due, and removes deadlines whose holds have all ended.
--
-- KEYS  1 deadlines  2 held  ARGV  1 the number of deadlines to skip  2 how many holds are enough
-- Returns {the keyspace's time (ms), the next deadline after them or "", {voucher, order, …}, …}.
-- #include "entry_time.lua"
-- #include "add_held.lua"

local deadlines, looked_up_max = KEYS[1], 4096
local now = string.format('%.0f', time_ms())
local skip, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local found, count = {now, ''}, 0
while count < most and looked_up < looked_up_max do
  local members, ended = redis.call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', skip, 16), {}
  if #members == 0 then break end
  for _, member in ipairs(members) do
    local orders = add_held(member, found)
    count = count + orders
    if orders > 0 then skip = skip + 1 else ended[#ended + 1] = member end
    if count >= most or looked_up >= looked_up_max then break end
  end
  if #ended > 0 then redis.call('ZREM', deadlines, unpack(ended)) end
end
found[2] = redis.call('ZRANGE', deadlines, skip, skip, 'WITHSCORES')[2] or ''
return found
