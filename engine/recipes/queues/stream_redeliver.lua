-- KEYS stream
-- ARGV  1 group  2 consumer  3 field  4 how many  5 'history': the consumer's pending messages, or
--       'claim': those of any that are idle  6 where to go on  7 for how long they are idle (ms)
-- Returns where to continue, and for each message: id, body, number of deliveries. Acknowledges
-- messages that were deleted from the stream.

local group, consumer, count, from = ARGV[1], ARGV[2], ARGV[4], ARGV[6]
local entries
if ARGV[5] == 'history' then
  local read = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count,
                          'STREAMS', KEYS[1], from)
  entries = read[1][2]
  from = #entries > 0 and entries[#entries][1] or '0-0'
else
  local claimed = redis.call('XAUTOCLAIM', KEYS[1], group, consumer, ARGV[7], from, 'COUNT', count)
  from, entries = claimed[1], claimed[2]
end
local messages = {}
for _, entry in ipairs(entries) do
  local id, fields = entry and entry[1], entry and entry[2]
  if fields then
    local body = ''
    for i = 1, #fields, 2 do
      if fields[i] == ARGV[3] then body = fields[i + 1] end
    end
    local pending = redis.call('XPENDING', KEYS[1], group, id, id, 1)
    messages[#messages + 1] = {id, body, pending[1][4]}
  elseif id then
    redis.call('XACK', KEYS[1], group, id)
  end
end
return {from, messages}
