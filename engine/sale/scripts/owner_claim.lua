-- KEYS owner of the stream, owner of the prefix, order stream, vouchers
-- ARGV as of lease.lua (the database's records), the database's checkpoint, adopt (1/0), whether the sale may
--      begin in an empty keyspace (1/0)
--
-- A lease without an owner is of a copy that ended between its claim and its confirmation.
-- #include "owner_codes.lua"
-- #include "lease.lua"
-- #include "marks.lua"

local checkpoint, adopt = ARGV[10], ARGV[11] == '1'
local of_stream, of_prefix = redis.call('HGET', owner, 'identity'), redis.call('GET', KEYS[2])
if of_stream and of_stream ~= identity or of_prefix and of_prefix ~= identity then return ANOTHERS end
if not of_stream and ARGV[12] ~= '1' then return ANOTHERS end
if not of_stream and not adopt and redis.call('EXISTS', KEYS[3]) == 1
   and redis.call('EXISTS', KEYS[4]) == 0 then return FOREIGN end
if not of_stream then
  redis.call('HDEL', owner, 'instance', 'instance_place', 'instance_name', 'instance_until', 'recorded',
             'epoch', 'caught_up', 'marks', 'missing', 'retain_ms', 'catching_up', 'moved_to', 'copied')
end
local other = find_other_copy()
if other then return other end
if number_of('recorded') > tonumber(recorded) or number_of('epoch') > tonumber(epoch) then return BEHIND end
if number_of('checkpoint') < tonumber(checkpoint) then return LOST end
if not of_stream then
  -- The stream will have every entry that this database lacks.
  write_marks(owner, {{time = time_ms(), at = '0-0', recorded = tonumber(recorded)}})
  redis.call('HSET', owner, 'identity', identity)
end
if not of_prefix then redis.call('SET', KEYS[2], identity) end
redis.call('HDEL', owner, 'missing')
return OURS
