-- KEYS voucher, stock, order stream, refunds, buyers, vouchers. ARGV the voucher's id, the number of
-- fields, fields of the voucher, refunded orders.
-- Returns {values of the counters, stock, last id of the stream, TIME, values of the fields, type of the
-- buyers, values of the refunds, 1 if the voucher is listed}, nil for a missing value.

local terms = redis.call('HMGET', KEYS[1], 'version', 'published', 'given_back', 'admitted', 'withheld',
                         'epoch', 'counted', 'closed', 'closed_at', 'moved')
local last = '0-0'
if redis.call('EXISTS', KEYS[3]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[3])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
local count = tonumber(ARGV[2])
local fields = count > 0 and redis.call('HMGET', KEYS[1], unpack(ARGV, 3, count + 2)) or {}
local refunds = #ARGV > count + 2 and redis.call('HMGET', KEYS[4], unpack(ARGV, count + 3)) or {}
return {terms, redis.call('GET', KEYS[2]), last, redis.call('TIME'), fields,
        redis.call('TYPE', KEYS[5]).ok, refunds, redis.call('SISMEMBER', KEYS[6], ARGV[1])}
