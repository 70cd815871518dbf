-- Marks of the order stream, in the field `marks` of the owner: a database that has recorded so much has every
-- entry up to a position. The entries before the first mark's may be removed. Ascending.
-- #include "engine/recipes/queues/first_needed.lua"
-- luacheck: push ignore 211
local function read_marks(owner_key)
  local marks = {}
  local text = redis.call('HGET', owner_key, 'marks') or ''
  for time, at, batches in string.gmatch(text, '(%d+) (%d+%-%d+) (%d+)') do
    marks[#marks + 1] = {time = tonumber(time), at = at, recorded = tonumber(batches)}
  end
  return marks
end
-- Returns a mark of what every group has acknowledged; nothing without a group. Also first_needed().
local function mark_now(owner_key, stream, now)
  local first, is_done = first_needed(stream)
  if not first then return nil end
  local at = first
  if not is_done then
    local before = redis.call('XREVRANGE', stream, '(' .. first, '-', 'COUNT', 1)[1]
    at = before and before[1] or '0-0'
  end
  local batches = tonumber(redis.call('HGET', owner_key, 'recorded') or 0)
  return {time = now, at = at, recorded = batches}, first
end
-- Ends the catching up once every group has acknowledged what was delivered again.
local function note_progress(owner_key, stream)
  local to = redis.call('HGET', owner_key, 'catching_up')
  local now = to and mark_now(owner_key, stream, 0)
  if not now then return end
  local ms, seq = string.match(now.at, '^(%d+)-(%d+)$')
  local to_ms, to_seq = string.match(to, '^(%d+)-(%d+)$')
  ms, seq, to_ms, to_seq = tonumber(ms), tonumber(seq), tonumber(to_ms), tonumber(to_seq)
  if ms > to_ms or (ms == to_ms and seq >= to_seq) then redis.call('HDEL', owner_key, 'catching_up') end
end
local function write_marks(owner_key, marks)
  local texts = {}
  for i, mark in ipairs(marks) do
    texts[i] = string.format('%.0f %s %.0f', mark.time, mark.at, mark.recorded)
  end
  redis.call('HSET', owner_key, 'marks', table.concat(texts, ';'))
end
-- luacheck: pop
