-- first_needed(stream) returns the lowest entry that some group has yet to acknowledge, or, and then true, the
-- last one that it was given: it has acknowledged all up to there. Nothing without a group.
-- luacheck: push ignore 211
local function first_needed(stream)
  local lowest, lowest_ms, lowest_seq, is_done
  local function consider(id, its_done)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    ms, seq = tonumber(ms), tonumber(seq)
    if not lowest or ms < lowest_ms or (ms == lowest_ms and seq < lowest_seq) then
      lowest, lowest_ms, lowest_seq, is_done = id, ms, seq, its_done
    elseif lowest == id then
      is_done = is_done and its_done
    end
  end
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if groups.err then return nil end
  for _, group in ipairs(groups) do
    local of = {}
    for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
    consider(of['last-delivered-id'], true)
    if of['pending'] > 0 then consider(redis.call('XPENDING', stream, of['name'])[2], false) end
  end
  return lowest, is_done
end
-- luacheck: pop
