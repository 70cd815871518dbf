-- KEYS  the hash of each limit
-- ARGV  1 amount, and for each limit its field, maximum and lifetime (ms)
-- Returns the number of the first limit that would be exceeded, from 1 on, or 0. Reads all counts
-- before its first write: on Redis the writes of a failed script stay.

local amount = tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  local count = redis.call('HGET', key, ARGV[3 * i - 1]) or '0'
  if not string.match(count, '^%d+$') then
    return redis.error_reply('ERR hash value is not a count: ' .. key)
  end
  if tonumber(count) + amount > tonumber(ARGV[3 * i]) then return i end
end
for i, key in ipairs(KEYS) do
  redis.call('HINCRBY', key, ARGV[3 * i - 1], amount)
  local lifetime = tonumber(ARGV[3 * i + 1])
  if lifetime > 0 and redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, lifetime) end
end
return 0
