-- Common to the scripts of a fair lock: its waiters in a list, each with the end of its place as a score.
-- luacheck: push ignore 211
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function first_waiter()
  while true do
    local first = redis.call('LINDEX', KEYS[2], 0)
    if not first then return nil end
    if tonumber(redis.call('ZSCORE', KEYS[3], first) or 0) > now then return first end
    redis.call('LPOP', KEYS[2])
    redis.call('ZREM', KEYS[3], first)
  end
end
local function set_score(waiter, score)
  redis.call('ZADD', KEYS[3], string.format('%.0f', score), waiter)
end
-- Wakes the first waiter that listens. Behind dead ones, it learns when their places end.
local function wake_first()
  local place = 0
  while true do
    local waiter = redis.call('LINDEX', KEYS[2], place)
    if not waiter or redis.call('PUBLISH', KEYS[4] .. ':' .. waiter, '0') > 0 then return end
    place = place + 1
  end
end
-- luacheck: pop
