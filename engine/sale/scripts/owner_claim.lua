-- KEYS owner of the stream, owner of the prefix, order stream, vouchers
-- ARGV as of lease.lua, then adopt (1/0). The checkpoint is the database's.
--
-- A lease without an owner is of a copy that ended between its claim and its confirmation.
-- #include "owner_codes.lua"
-- #include "lease.lua"

local of_stream, of_prefix = redis.call('HGET', owner, 'identity'), redis.call('GET', KEYS[2])
if of_stream and of_stream ~= identity or of_prefix and of_prefix ~= identity then return ANOTHERS end
if not of_stream and ARGV[8] ~= '1' and redis.call('EXISTS', KEYS[3]) == 1
   and redis.call('EXISTS', KEYS[4]) == 0 then return FOREIGN end
if not of_stream then
  redis.call('HDEL', owner, 'instance', 'instance_place', 'instance_name', 'instance_until', 'recorded')
end
local other = find_other_copy(true)
if other then return other end
if tonumber(redis.call('HGET', owner, 'checkpoint') or 0) < tonumber(recorded) then return LOST end
if not of_stream then redis.call('HSET', owner, 'identity', identity) end
if not of_prefix then redis.call('SET', KEYS[2], identity) end
return OURS
