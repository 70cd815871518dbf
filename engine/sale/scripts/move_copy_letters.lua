-- Copies letters, under their ids, to a keyspace in which a sale arrives. Leaves out those that are there.
--
-- KEYS owner of the stream, stream of letters. ARGV the mark of such a keyspace, then of each letter: id, number
-- of arguments, field, value, …
-- Returns 1, or 0 in any other keyspace.

if redis.call('HGET', KEYS[1], 'identity') ~= ARGV[1] then return 0 end
if redis.call('HEXISTS', KEYS[1], 'copied') == 1 then return 0 end
local i = 2
while i <= #ARGV do
  local id, count = ARGV[i], tonumber(ARGV[i + 1])
  if #redis.call('XRANGE', KEYS[2], id, id) == 0 then
    redis.call('XADD', KEYS[2], id, unpack(ARGV, i + 2, i + 1 + count))
  end
  i = i + 2 + count
end
return 1
