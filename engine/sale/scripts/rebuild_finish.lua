-- Ends a rebuild, and opens admission.
--
-- KEYS  1 voucher  2 stock  3 vouchers  4 buyers  5 held  6 waiting  7 owner of the stream
-- ARGV  1 token  2 free  3 taken  4 counted  5 its id  6 the number of buyers  7 given back  8 withheld
--       9 the database's epoch before the orders were read  10 the field `caught_up` then, or ""
--       11… field and value of each of the terms
-- A keyspace that was rolled back may have kept the token and lost some of the buyers. A database that was
-- caught up may have lacked orders that were acknowledged when the stream was read.
-- #include "voucher_codes.lua"

if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {LOST_THE_REBUILD} end
if (redis.call('HGET', KEYS[7], 'caught_up') or '') ~= ARGV[10] then return {LOST_THE_REBUILD} end
local buyers = redis.call(ARGV[4] == '1' and 'HLEN' or 'SCARD', KEYS[4])
if buyers ~= tonumber(ARGV[6]) then return {LOST_THE_REBUILD} end
local new = {}
for i = 11, #ARGV, 2 do new[ARGV[i]] = tonumber(ARGV[i + 1]) end
-- A database that is caught up begins above this epoch.
if tonumber(redis.call('HGET', KEYS[7], 'epoch') or 0) < tonumber(ARGV[9]) then
  redis.call('HSET', KEYS[7], 'epoch', ARGV[9])
end
redis.call('SADD', KEYS[3], ARGV[5])
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], 'counted', ARGV[4], 'epoch', ARGV[9], unpack(ARGV, 11))
if new.total > 0 then redis.call('HSET', KEYS[1], 'admitted', ARGV[3]) end
if ARGV[7] ~= '0' then redis.call('HSET', KEYS[1], 'given_back', ARGV[7]) end
if ARGV[8] ~= '0' then redis.call('HSET', KEYS[1], 'withheld', ARGV[8]) end
if new.waiting > 0 and redis.call('ZCARD', KEYS[6]) > 0 then redis.call('HSET', KEYS[1], 'serve', 1) end
redis.call('HDEL', KEYS[5], 'closed:' .. ARGV[5])
return {DONE}
