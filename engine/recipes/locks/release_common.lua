-- Returns the first result if the release is repeated, and keeps the result of this one.
-- luacheck: push ignore 211
local STILL_HELD = 0  -- by the owner, who acquired the lock more than once
local RELEASED = 1    -- the owner no longer holds it

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
    return keep(STILL_HELD)
  end
  redis.call('DEL', KEYS[1])
  on_free()
  return keep(RELEASED)
end
-- luacheck: pop
