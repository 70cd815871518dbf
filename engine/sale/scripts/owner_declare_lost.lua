-- KEYS owner of the stream, voucher, stock, vouchers, held, waiting, waiting orders, buyers
-- ARGV checkpoint, the voucher's id, 1 if the database has no version of it in force
--
-- A waiting user of an older list may have got a piece since: the order's id is used.
--
-- Another process may have confirmed the claim meanwhile, and rebuilt the voucher. Then the
-- checkpoint is there.
--
-- A first version may be in force here before the database knows. If it is not, another system's
-- keys stay, for they may be adopted. So do the terms of an adoption that is not finished: they say
-- that the buyers are still to be stored.

if tonumber(redis.call('HGET', KEYS[1], 'checkpoint') or 0) >= tonumber(ARGV[1]) then return 0 end
local is_adopting = false
if ARGV[3] == '1' then
  local is_in_force = redis.pcall('HEXISTS', KEYS[2], 'version') == 1
                      or redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1
  if not is_in_force and redis.call('EXISTS', KEYS[3], KEYS[8]) > 0 then return 0 end
  is_adopting = redis.pcall('HEXISTS', KEYS[2], 'adopting') == 1
end
redis.call('SADD', KEYS[4], ARGV[2])
redis.call('HSET', KEYS[5], 'closed:' .. ARGV[2], 'lost')
redis.call('DEL', KEYS[3], KEYS[6], KEYS[7])
if not is_adopting then redis.call('DEL', KEYS[2]) end
return 1
