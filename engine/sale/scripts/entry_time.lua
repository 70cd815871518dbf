-- The time of an entry in the order stream.
--
-- Each rule about time (the window of a sale, the days, the deadlines) is checked again later by the
-- id of the entry. So a script that decides appends at the time that it decided by. A Redis before
-- 7.2 would give `XADD *` a later one: it reads the clock once more. Ids only ascend, so the time of
-- an entry does not go back where the clock does.
--
-- time_ms()                           the keyspace's time, ms since 1970 UTC
-- time_of_next_entry(stream, now)     the time of an entry that is appended now
-- append_entry(stream, now, …)        appends the fields and values, and returns the id; fails only as
--                                     `XADD *` does, and changes nothing then
-- luacheck: push ignore 211
local function time_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Returns both parts of a stream's last id as strings: they may have 20 digits.
local function last_id_of(stream)
  local info = redis.pcall('XINFO', 'STREAM', stream)
  for i = 1, #info - 1, 2 do
    if info[i] == 'last-generated-id' then return string.match(info[i + 1], '^(%d+)%-(%d+)$') end
  end
  return '0', '0'
end

local function time_of_next_entry(stream, now) return math.max(now, tonumber((last_id_of(stream)))) end

local function append_entry(stream, now, ...)
  local id = redis.pcall('XADD', stream, string.format('%.0f-*', now), ...)
  if type(id) == 'string' then return id end
  -- The clock was set back, or the server is older than 7.0, which does not know '-*'. Any other
  -- error comes again. Redis counts exactly where Lua cannot.
  local last_ms, count = last_id_of(stream)
  local next_id = string.format('%.0f-0', now)
  if tonumber(last_ms) >= now then
    next_id = #count > 15 and '*' or last_ms .. '-' .. string.format('%.0f', count + 1)
  end
  return redis.call('XADD', stream, next_id, ...)
end
-- luacheck: pop
