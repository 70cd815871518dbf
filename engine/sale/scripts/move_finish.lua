-- Ends the leaving of a keyspace, if the workers' group has acknowledged every entry.
--
-- KEYS owner of the stream, owner of the prefix, stream. ARGV the mark of a keyspace that is being left, the
-- mark of one that was left, the group, where the sale goes
local LEFT = 1
local NOT_DRAINED = 0
local ANOTHERS = -1  -- another move is under way

local present = redis.call('HGET', KEYS[1], 'identity')
if redis.call('HGET', KEYS[1], 'moved_to') ~= ARGV[4] then return ANOTHERS end
if present == ARGV[2] then return LEFT end
if present ~= ARGV[1] then return ANOTHERS end
local delivered, pending = '0-0', 0
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[3])
for _, group in ipairs(groups.err and {} or groups) do
  local of = {}
  for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
  if of['name'] == ARGV[3] then delivered, pending = of['last-delivered-id'], of['pending'] end
end
if pending > 0 or #redis.call('XRANGE', KEYS[3], '(' .. delivered, '+', 'COUNT', 1) > 0 then return NOT_DRAINED end
redis.call('HSET', KEYS[1], 'identity', ARGV[2])
redis.call('SET', KEYS[2], ARGV[2])
return LEFT
