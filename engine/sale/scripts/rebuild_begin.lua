-- Begins a rebuild, which closes admission.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 owner of the stream  6 held  7 refunds  8 lost requests
-- ARGV  1 token  2 the keyspace's run or ""  3 the age (ms) after which an unrenewed claim is abandoned
--       4 the database's identity  5 force (1/0: also if nothing is missing)  6 the voucher's id
-- Returns one of voucher_codes.lua.
-- A second rebuild does no harm: its token makes the first one fail. The claim's age only decides
-- how soon the sale goes on, and keeps two rebuilds from disturbing each other.
-- #include "rebuild_claim.lua"
-- #include "voucher_codes.lua"

local voucher, token, run, abandoned_ms = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local identity = redis.call('HGET', KEYS[5], 'identity')
if not identity then return {UNCLAIMED} end
if identity ~= ARGV[4] then return {ANOTHERS} end
if redis.call('HEXISTS', KEYS[5], 'moved_to') == 1 then return {ANOTHERS} end
if redis.call('HEXISTS', KEYS[5], 'missing') == 1 then return {LOST_ORDERS} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function is_alive(closed, its_run, since)
  if closed == GIVEN_BACK then return false end
  if string.match(closed, '^[^:]*') == string.match(token, '^[^:]*') then return false end
  if run ~= '' and its_run and its_run ~= '' and its_run ~= run then return false end
  local age = now - (since or 0)
  return age >= 0 and age < abandoned_ms
end

local closed = redis.call('HMGET', voucher, 'closed', 'closed_run', 'closed_at')
if closed[1] then
  if is_alive(closed[1], closed[2], closed[3]) then return {BEING_REBUILT} end
elseif ARGV[5] ~= '1' and redis.call('EXISTS', KEYS[2]) == 1 and redis.call('HEXISTS', voucher, 'version') == 1 then
  return {ALREADY_DONE}
end
if redis.call('HEXISTS', KEYS[8], 'loss') == 1 then return {LOST_REQUESTS} end
redis.call('HSET', voucher, 'closed', token, 'closed_run', run, 'closed_at', string.format('%.0f', now))
redis.call('HSET', KEYS[6], 'closed:' .. ARGV[6], token)
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[7])
return {DONE}
