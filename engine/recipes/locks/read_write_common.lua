-- The lock lasts as long as its longest hold. A read hold has a key of its own, with its lease.
-- luacheck: push ignore 211
local function read_key(reader, hold)
  return KEYS[2] .. ':' .. reader .. ':rwlock_timeout:' .. hold
end
local function longest_read()
  local longest = 0
  local fields = redis.call('HGETALL', KEYS[1])
  for i = 1, #fields, 2 do
    local reader = fields[i]
    if reader ~= 'mode' and string.sub(reader, -6) ~= ':write' then
      for hold = 1, tonumber(fields[i + 1]) do
        longest = math.max(longest, redis.call('PTTL', read_key(reader, hold)))
      end
    end
  end
  return longest
end
local function set_read_leases(reader, holds, lease)
  for hold = 1, holds do redis.call('SET', read_key(reader, hold), 1, 'PX', lease) end
end
local function last_at_least(lease)
  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), lease))
end
local function set_write_lease(lease)
  redis.call('PEXPIRE', KEYS[1], math.max(longest_read(), lease))
end
-- luacheck: pop
