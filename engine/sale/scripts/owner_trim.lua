-- Removes entries that every group has acknowledged, `retain` ms after that, and earlier if the stream has
-- more than `most` entries.
--
-- KEYS owner of the stream, order stream. ARGV as of lease.lua, retain (ms), most
-- Returns the number of marks that have to become older.
-- #include "lease.lua"
-- #include "marks.lua"

local stream, retain_ms, most = KEYS[2], tonumber(ARGV[10]), tonumber(ARGV[11])
if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local other = find_other_copy()
if other then return other end
if number_of('retain_ms') ~= retain_ms then redis.call('HSET', owner, 'retain_ms', ARGV[10]) end
note_progress(owner, stream)
local now = time_ms()
local newest, first = mark_now(owner, stream, now)
if not newest then return 0 end
local marks = read_marks(owner)
local before = #marks
local last = marks[before]
if not last then  -- by a version that kept none, and trimmed up to here
  marks[1] = newest
elseif last.at ~= newest.at and (now < last.time or now - last.time >= retain_ms / 16) then
  marks[before + 1] = newest
end
local has_changed = #marks ~= before
local function drop_first()
  table.remove(marks, 1)
  has_changed = true
end
while #marks > 1 and marks[2].time <= now - retain_ms do drop_first() end

-- One script removes a bounded number, since buyers wait for its end. Without retention a batch was
-- acknowledged just before.
local limit = {'=', first}
if retain_ms > 0 then limit = {'~', marks[1].at, 'LIMIT', 20000} end
local removed = redis.call('XTRIM', stream, 'MINID', unpack(limit))
if removed == 0 and redis.call('XLEN', stream) > most then
  if #marks == 1 and marks[1].at ~= newest.at then marks[2] = newest end
  if #marks > 1 then drop_first() end
end
if has_changed then write_marks(owner, marks) end
return #marks - 1
