-- KEYS order stream. ARGV entry, order, …
--
-- Returns the positions of orders that are not in the stream. After a loss, another order may have
-- the same entry.

local function is_there(entry, order)
  local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  for i = 1, found and #found[2] or 0, 2 do
    if found[2][i] == 'id' then return found[2][i + 1] == order end
  end
  return false
end
local missing = {}
for i = 1, #ARGV, 2 do
  if not is_there(ARGV[i], ARGV[i + 1]) then missing[#missing + 1] = (i - 1) / 2 end
end
return missing
