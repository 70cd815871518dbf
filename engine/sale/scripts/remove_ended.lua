-- Removes deadlines whose holds have all ended, before they are due.
--
-- KEYS  1 deadlines  2 held  ARGV  1 the first deadline's rank  2 the most of them
-- Returns {how many it looked at, how many it removed}.
-- #include "add_held.lua"

local rank, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local members, ended = redis.call('ZRANGE', KEYS[1], rank, rank + most - 1), {}
for _, member in ipairs(members) do
  if add_held(member, {}) == 0 then ended[#ended + 1] = member end
end
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
return {#members, #ended}
