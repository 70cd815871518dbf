-- KEYS  1 stream  2 position  ARGV ids. Returns the number of ids after the position.

local function parse(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local ms, seq = parse(redis.call('GET', KEYS[2]) or '0-0')
local count, last_ms, last_seq, last = 0, ms, seq, nil
for _, id in ipairs(ARGV) do
  local id_ms, id_seq = parse(id)
  if not id_ms then return redis.error_reply('ERR Invalid stream ID specified') end
  if id_ms > ms or (id_ms == ms and id_seq > seq) then count = count + 1 end
  if id_ms > last_ms or (id_ms == last_ms and id_seq > last_seq) then
    last_ms, last_seq, last = id_ms, id_seq, id
  end
end
if last then
  redis.call('SET', KEYS[2], last)
  redis.call('XTRIM', KEYS[1], 'MINID', '=', last)
  redis.call('XDEL', KEYS[1], last)
end
return count
