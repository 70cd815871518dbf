-- Returns the first result if the release is repeated, and keeps the result of this one.
-- luacheck: push ignore 211
local owner, lease, latch_ms = ARGV[1], ARGV[2], ARGV[3]
local channel = KEYS[latch_ms and #KEYS - 1 or #KEYS]
local latch = latch_ms and KEYS[#KEYS]
local known = latch and redis.call('GET', latch)
if known then return tonumber(known) end
local function keep(result)
  if latch then redis.call('SET', latch, result, 'PX', latch_ms) end
  return result
end
local function end_hold(on_free)
  if redis.call('HINCRBY', KEYS[1], owner, -1) > 0 then
    redis.call('PEXPIRE', KEYS[1], lease)
    return keep(0)
  end
  redis.call('DEL', KEYS[1])
  on_free()
  return keep(1)
end
-- luacheck: pop
