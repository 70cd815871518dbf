-- Gives pieces back to the stock and to their user, as the terms say. read_terms() returns nil if the
-- voucher is closed or lost.
--
-- published = stock + pieces of all buyers - given_back + withheld:
-- - given_back: pieces in the stock again that still count against their user;
-- - withheld: pieces that were sold and are neither in the stock nor a buyer's.
-- luacheck: push ignore 211
local function read_terms(voucher, stock)
  local terms = redis.call('HMGET', voucher, 'closed', 'version', 'restock', 'allowance', 'counted',
                           'total', 'per_day', 'offset', 'begin', 'end', 'per_user', 'price',
                           'pay_ms', 'waiting', 'serve')
  if terms[1] or not terms[2] or redis.call('EXISTS', stock) == 0 then return nil end
  return {version = terms[2], restock = terms[3] ~= '0', allowance = terms[4] ~= '0',
          counted = terms[5] == '1', total = tonumber(terms[6]), per_day = tonumber(terms[7]),
          offset = terms[8], begins = tonumber(terms[9]), ends = tonumber(terms[10]),
          per_user = tonumber(terms[11]), price = terms[12] or '0',
          pay_ms = tonumber(terms[13] or 0), waiting = tonumber(terms[14] or 0),
          serves_first = terms[15]}
end

local function free_day(terms, days, user, quantity, admitted_ms)
  local day, count = string.match(redis.call('HGET', days, user) or '', '^(%-?%d+):(%d+)$')
  if not day then return end
  local its_day = math.floor((admitted_ms + terms.offset * 60000) / 86400000)
  if tonumber(day) ~= its_day then return end
  if count - quantity <= 0 then
    redis.call('HDEL', days, user)
  else
    redis.call('HSET', days, user, day .. ':' .. string.format('%.0f', count - quantity))
  end
end

local function keeps_of(terms) return (terms.restock and 0 or 1) + (terms.allowance and 0 or 2) end

local function give_back(terms, voucher, stock, buyers, days, user, quantity, admitted_ms)
  if terms.restock then
    redis.call('INCRBY', stock, quantity)
    if terms.total > 0 then redis.call('HINCRBY', voucher, 'admitted', -quantity) end
  end
  if terms.allowance then
    if not terms.counted then
      redis.call('SREM', buyers, user)
    elseif redis.call('HINCRBY', buyers, user, -quantity) <= 0 then
      redis.call('HDEL', buyers, user)
    end
    if terms.per_day > 0 then free_day(terms, days, user, quantity, admitted_ms) end
  end
  if terms.restock and not terms.allowance then redis.call('HINCRBY', voucher, 'given_back', quantity) end
  if terms.allowance and not terms.restock then redis.call('HINCRBY', voucher, 'withheld', quantity) end
end
-- luacheck: pop
