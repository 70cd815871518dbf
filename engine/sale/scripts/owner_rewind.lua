-- Lets the workers store again what the database has lost: their group goes back to the entries that it
-- may lack. Entries that it has are met again, and change nothing.
--
-- KEYS owner of the stream, order stream, each voucher
-- ARGV as of lease.lua (the database's records), the group, accept (1/0: also if entries are missing),
--      the field `caught_up` when this was found out
-- Returns {one of these, …}
-- #include "lease.lua"
-- #include "marks.lua"
local WHOLE = 0    -- nothing is lost, or another process was faster
local DONE = 1     -- {…, the entry after which the group begins}
local MISSING = 2  -- {…, what the database had recorded, the first entry that the stream has for certain,
                   -- the time when those before it were removed}

local stream, group, accept = KEYS[2], ARGV[10], ARGV[11] == '1'
if redis.call('HGET', owner, 'identity') ~= identity then return {WHOLE} end
local other = find_other_copy()
if other then return other end
local known, has = number_of('recorded'), tonumber(recorded)
if known <= has or number_of('caught_up') ~= tonumber(ARGV[12]) then return {WHOLE} end

local marks = read_marks(owner)
while #marks > 0 and marks[#marks].recorded > has do
  if #marks == 1 and not accept then
    redis.call('HSET', owner, 'missing', has)
    return {MISSING, known, marks[1].at, marks[1].time}
  end
  table.remove(marks)
end
local from = marks[#marks] or {time = time_ms(), at = '0-0', recorded = has}
if #marks == 0 then
  if not accept then
    redis.call('HSET', owner, 'missing', has)
    return {MISSING, known, '0-0', 0}
  end
  marks[1] = from
end

-- What is pending is delivered anew, too, in the order of the stream.
local after = from.at
local moved = redis.pcall('XGROUP', 'SETID', stream, group, after)
if moved.err and not string.find(moved.err, 'NOGROUP') and not string.find(moved.err, 'requires the key') then
  return moved
end
local pending = moved.err and {} or redis.call('XPENDING', stream, group, '(' .. after, '+', 1000)
while #pending > 0 do
  for i, one in ipairs(pending) do pending[i] = one[1] end
  redis.call('XACK', stream, group, unpack(pending))
  pending = redis.call('XPENDING', stream, group, '(' .. after, '+', 1000)
end

-- A refund that was lost is carried out again (give_back_refund.lua).
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('HSET', KEYS[i], 'recount', 1) end
end

-- The numbers drawn from now on are above those of the history that was lost.
local checkpoint = math.max(number_of('checkpoint'), known) + 1
redis.call('HSET', owner, 'checkpoint', string.format('%.0f', checkpoint), 'recorded', recorded,
           'caught_up', string.format('%.0f', checkpoint))
redis.call('HDEL', owner, 'missing')
local newest = redis.call('XREVRANGE', stream, '+', '(' .. after, 'COUNT', 1)[1]
if newest and not moved.err then redis.call('HSET', owner, 'catching_up', newest[1]) end
write_marks(owner, marks)
return {DONE, after}
