-- KEYS  1 held  2 voucher  ARGV  1 the field that says so  2 1 to remove it
-- Returns 1 if no rebuild closed the voucher although the field says so, else 0.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 or redis.call('HEXISTS', KEYS[2], 'closed') == 1 then return 0 end
if ARGV[2] == '1' then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1
