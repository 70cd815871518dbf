-- Removes every entry below the lowest one that some group has yet to read or acknowledge. KEYS
-- stream

local function parse(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local lowest, lowest_ms, lowest_seq
local function consider(id)
  local ms, seq = parse(id)
  if not lowest or ms < lowest_ms or (ms == lowest_ms and seq < lowest_seq) then
    lowest, lowest_ms, lowest_seq = id, ms, seq
  end
end
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if groups.err then return 0 end
for _, group in ipairs(groups) do
  local of = {}
  for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
  consider(of['last-delivered-id'])
  if of['pending'] > 0 then consider(redis.call('XPENDING', KEYS[1], of['name'])[2]) end
end
if not lowest then return 0 end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', lowest)
