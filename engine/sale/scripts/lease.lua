-- KEYS  1 owner of the stream, …
-- ARGV  1 identity, and of this copy of the database:  2 id  3 place  4 name  5 lease (ms)
--       6 private (1/0)  7 a checkpoint that it has
--
-- find_other_copy() renews the lease of this copy. Returns nothing, or why it cannot:
-- - {'open', the name of another copy that has the lease, the ms left of it};
-- - for a claim, {'newer', the name of the copy that had the lease last, a checkpoint that it
--   recorded, the one that this copy has instead}.
-- A copy in the same place replaces that one. A lease that ends later than any can was granted before
-- the clock was set back. It is ignored. A keyspace in the process of the copy is nobody else's.
-- #include "entry_time.lua"
-- luacheck: push ignore 211
local owner = KEYS[1]
local identity, copy, place, name, lease_ms, is_private, recorded = unpack(ARGV, 1, 7)
local function find_other_copy(is_claim)
  if copy == '' then return nil end
  local now = time_ms()
  local held = redis.call('HMGET', owner, 'instance', 'instance_place', 'instance_name',
                          'instance_until', 'recorded')
  local left = held[1] and tonumber(held[4] or 0) - now or 0
  local is_same = held[1] == copy or held[2] == place and place ~= ''
  if not is_same and is_private ~= '1' and left > 0 and left <= tonumber(lease_ms) then
    return {'open', held[3], left}
  end
  local known, new = tonumber(held[5] or 0), tonumber(recorded)
  if is_claim and held[1] and not is_same and known > new then
    return {'newer', held[3], known, new}
  end
  if known < new then redis.call('HSET', owner, 'recorded', recorded) end
  redis.call('HSET', owner, 'instance', copy, 'instance_place', place, 'instance_name', name,
             'instance_until', string.format('%.0f', now + tonumber(lease_ms)))
  return nil
end
-- luacheck: pop
