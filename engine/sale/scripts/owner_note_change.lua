-- Tells what the database has recorded with a change that began there, and appends that change to the order
-- stream. So a database that loses it gets it again. Without retention, such a database cannot be caught up.
--
-- KEYS owner of the stream, order stream. ARGV as of lease.lua (the batch of the change), field, value, …
-- #include "lease.lua"
-- #include "marks.lua"
local CAUGHT_UP = -1  -- the database was caught up since the batch was drawn: it may lack the change

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local other = find_other_copy()
if other then return other end
if not tell_recorded() then return CAUGHT_UP end
if number_of('retain_ms') > 0 then
  if #ARGV > 9 then append_entry(KEYS[2], time_ms(), unpack(ARGV, 10)) end
  return 1
end
local marks = read_marks(owner)
local last = marks[#marks]
if last then write_marks(owner, {{time = time_ms(), at = last.at, recorded = number_of('recorded')}}) end
return 1
