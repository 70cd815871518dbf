-- KEYS owner of the stream, owner of the prefix, lost requests. ARGV identity, checkpoint, a new name
-- of the loss, what the database has recorded
-- #include "owner_codes.lua"
-- #include "entry_time.lua"
-- #include "marks.lua"

local owner = KEYS[1]
local of_stream, of_prefix = redis.call('HGET', owner, 'identity'), redis.call('GET', KEYS[2])
if of_stream and of_stream ~= ARGV[1] or of_prefix and of_prefix ~= ARGV[1] then return ANOTHERS end
redis.call('HSET', owner, 'identity', ARGV[1])
redis.call('SET', KEYS[2], ARGV[1])
if tonumber(redis.call('HGET', owner, 'checkpoint') or 0) < tonumber(ARGV[2]) then
  -- Entries that only this database has are lost: a database with less cannot be caught up.
  write_marks(owner, {{time = time_ms(), at = '0-0', recorded = tonumber(ARGV[4])}})
  redis.call('HSET', owner, 'checkpoint', ARGV[2], 'recorded', ARGV[4])
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'loss', ARGV[3])
end
return OURS
