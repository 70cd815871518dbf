-- KEYS and ARGV as counted_take.lua. Returns 0.

local amount = tonumber(ARGV[1])
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = redis.call('HGET', key, ARGV[3 * i - 1]) or '0'
  if not string.match(counts[i], '^%d+$') then
    return redis.error_reply('ERR hash value is not a count: ' .. key)
  end
end
for i, key in ipairs(KEYS) do
  if tonumber(counts[i]) > amount then
    redis.call('HINCRBY', key, ARGV[3 * i - 1], -amount)
  else
    redis.call('HDEL', key, ARGV[3 * i - 1])
  end
end
return 0
