-- Returns how long a caller may sleep without a message (ms; -1: for ever). A load of another
-- system ends silently: a lock that does not name a load as CacheCore does is looked at often.
-- luacheck: push ignore 211
local function sleep_ms()
  local left = redis.call('PTTL', KEYS[2])
  local holder = redis.pcall('GET', KEYS[2])
  local client = type(holder) == 'string' and string.match(holder, '^(%x+):%d+$')
  if client and #client == 16 then return left end
  return left < 0 and 100 or math.min(left, 100)
end
-- luacheck: pop
