-- Renews the claim, and adds buyers.
--
-- KEYS  1 voucher  2 buyers  3 days
-- ARGV  1 token  2 counted (1/0)  3… user, count, "<day>:<count>" or "" for each buyer
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'closed_at', string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)))
for i = 3, #ARGV, 3 do
  if ARGV[2] == '1' then
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
  else
    redis.call('SADD', KEYS[2], ARGV[i])
  end
  if ARGV[i + 2] ~= '' then redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 2]) end
end
return {DONE}
