-- The index of letters: order -> "dead <letter>" or "discarded <letter>", and for each stream the id up
-- to which it is indexed. An earlier version appends letters without indexing them. So a newly appended
-- letter may follow a missing one: then it does not move that id.
--
-- A letter with an event of an order is not the order's: it has none here.
-- luacheck: push ignore 211
local function order_of(fields)
  for i = 1, #fields, 2 do
    if fields[i] == 'event' then return nil end
    if fields[i] == 'id' then return string.match(fields[i + 1], '^[1-9]%d*$') end
  end
end
local function indexed_to(index, kind) return redis.call('HGET', index, kind .. '_to') or '0-0' end
local function is_whole(stream, index, kind)
  return #redis.call('XRANGE', stream, '(' .. indexed_to(index, kind), '+', 'COUNT', 1) == 0
end
local function note(index, kind, letter, fields, was_whole)
  local order = order_of(fields)
  if order then redis.call('HSET', index, order, kind .. ' ' .. letter) end
  if was_whole then redis.call('HSET', index, kind .. '_to', letter) end
end
-- luacheck: pop
