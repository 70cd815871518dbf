-- KEYS owner of the stream, owner of the prefix, lost requests. ARGV identity, checkpoint, a new name
-- of the loss
-- #include "owner_codes.lua"

local of_stream, of_prefix = redis.call('HGET', KEYS[1], 'identity'), redis.call('GET', KEYS[2])
if of_stream and of_stream ~= ARGV[1] or of_prefix and of_prefix ~= ARGV[1] then return ANOTHERS end
redis.call('HSET', KEYS[1], 'identity', ARGV[1])
redis.call('SET', KEYS[2], ARGV[1])
if tonumber(redis.call('HGET', KEYS[1], 'checkpoint') or 0) < tonumber(ARGV[2]) then
  redis.call('HSET', KEYS[1], 'checkpoint', ARGV[2])
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'loss', ARGV[3])
end
return OURS
