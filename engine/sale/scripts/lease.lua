-- KEYS  1 owner of the stream, …
-- ARGV  1 identity, and of this copy of the database:  2 id  3 place  4 name  5 lease (ms)
--       6 private (1/0)  7–9 a batch that it has recorded: the checkpoint drawn for it, what
--       DatabaseState::recorded() was after it, the epoch then
--
-- find_other_copy() renews the lease of this copy. Returns nothing, or why it cannot: {'open', the name of
-- another copy that has the lease, the ms left of it}. A copy in the same place replaces that one. A
-- lease that ends later than any can was granted before the clock was set back. It is ignored. A keyspace
-- in the process of the copy is nobody else's.
--
-- tell_recorded() raises what the database has to have from now on. Returns false for a batch that was
-- drawn before the database was caught up last: it may have lost that batch (owner_rewind.lua).
-- #include "entry_time.lua"
-- luacheck: push ignore 211
local owner = KEYS[1]
local identity, copy, place, name, lease_ms, is_private, drawn, recorded, epoch = unpack(ARGV, 1, 9)
local function number_of(field) return tonumber(redis.call('HGET', owner, field) or 0) end
local function raise(field, value)
  if number_of(field) < tonumber(value) then redis.call('HSET', owner, field, value) end
end
local function find_other_copy()
  if copy == '' then return nil end
  local now = time_ms()
  local held = redis.call('HMGET', owner, 'instance', 'instance_place', 'instance_name', 'instance_until')
  local left = held[1] and tonumber(held[4] or 0) - now or 0
  local is_same = held[1] == copy or held[2] == place and place ~= ''
  if not is_same and is_private ~= '1' and left > 0 and left <= tonumber(lease_ms) then
    return {'open', held[3], left}
  end
  redis.call('HSET', owner, 'instance', copy, 'instance_place', place, 'instance_name', name,
             'instance_until', string.format('%.0f', now + tonumber(lease_ms)))
  return nil
end
local function tell_recorded()
  if tonumber(drawn) <= number_of('caught_up') then return false end
  raise('recorded', recorded)
  raise('epoch', epoch)
  return true
end
-- luacheck: pop
