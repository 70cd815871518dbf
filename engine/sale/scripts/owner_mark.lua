-- Marks the order stream: a database with the present records is not given the entries again that every group
-- has acknowledged. KEYS owner of the stream, order stream. ARGV as of lease.lua
-- #include "lease.lua"
-- #include "marks.lua"

if redis.call('HGET', owner, 'identity') ~= identity then return 0 end
local marks, newest = read_marks(owner), mark_now(owner, KEYS[2], time_ms())
if not newest or #marks == 0 then return 0 end
if number_of('retain_ms') == 0 then marks = {} end
marks[#marks + 1] = newest
write_marks(owner, marks)
return 1
