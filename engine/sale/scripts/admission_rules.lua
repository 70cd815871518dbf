-- The rules of admission: whether a user may have so many pieces of a voucher now, and what a sale
-- counts. The purchase, the waiting list, and each script that gives pieces back to them call these
-- functions. native_admission.cc has the rules of a purchase in C++, and native_payments.cc those of
-- a cancelled order.
--
-- `keys` has voucher, stock, buyers, days, stream, deadlines and held. The pieces of a voucher:
--   published = stock + pieces of all buyers - given_back + withheld
-- given_back are in the stock again and still count against their user. withheld were sold, and are
-- neither in the stock nor a buyer's.
-- #include "admission_window.lua"
-- #include "entry_time.lua"
-- #include "held_orders.lua"
-- luacheck: push ignore 211
local function read_terms(keys)
  local terms = redis.call('HMGET', keys.voucher, 'closed', 'version', 'begin', 'end', 'total', 'admitted',
                           'counted', 'per_user', 'per_day', 'offset', 'price', 'pay_ms', 'restock',
                           'allowance', 'waiting', 'serve', 'token')
  return {closed = terms[1], version = terms[2] or '0', is_known = terms[2], begins = tonumber(terms[3]),
          ends = tonumber(terms[4]), total = tonumber(terms[5]), admitted = terms[6] or '0',
          counted = terms[7] == '1', per_user = tonumber(terms[8]), per_day = tonumber(terms[9]),
          offset = terms[10], price = terms[11] or '0', pay_ms = tonumber(terms[12] or 0),
          restock = terms[13] ~= '0', allowance = terms[14] ~= '0', waiting = tonumber(terms[15] or 0),
          serves_first = terms[16], needs_token = terms[17] == '1'}
end

-- Returns nil if the voucher is closed or lost.
local function read_open_terms(keys)
  local terms = read_terms(keys)
  if terms.closed or not terms.is_known or redis.call('EXISTS', keys.stock) == 0 then return nil end
  return terms
end

-- As the commands that count read a value.
local function is_integer(text)
  local digits = string.match(text, '^%-?([1-9]%d*)$')
  if not digits then return text == '0' end
  return #digits < 19 or #digits == 19 and digits <= '9223372036854775807'
end

-- ---- Whether a sale is allowed ----

-- As refusal_of_time(), each returns why it is not: a code, or an error. nil: it is.

local function refusal_of_stock(terms, keys, quantity)
  local free = redis.call('GET', keys.stock)
  if not free then return STOCK_MISSING end
  if not is_integer(free) then return redis.error_reply('ERR value is not an integer or out of range') end
  if tonumber(free) < quantity then return SOLD_OUT end
  if terms.total > 0 then
    if not is_integer(terms.admitted) then return redis.error_reply('ERR hash value is not an integer') end
    if tonumber(terms.admitted) + quantity > terms.total then return SOLD_OUT end
  end
end

-- Without a refusal, also returns the day of the order, and the pieces that the user bought on it.
local function refusal_of_user(terms, keys, user, quantity, now)
  if not terms.counted then
    if quantity > 1 or redis.call('SISMEMBER', keys.buyers, user) == 1 then return LIMIT_REACHED end
  else
    local bought = redis.call('HGET', keys.buyers, user) or '0'
    if not is_integer(bought) then return redis.error_reply('ERR hash value is not an integer') end
    if terms.per_user > 0 and tonumber(bought) + quantity > terms.per_user then return LIMIT_REACHED end
  end
  if terms.per_day <= 0 then return nil end
  -- An order's day is that of its entry.
  local today, bought = math.floor((time_of_next_entry(keys.stream, now) + terms.offset * 60000) / 86400000), 0
  local day, count = string.match(redis.call('HGET', keys.days, user) or '', '^(%-?%d+):(%d+)$')
  day = tonumber(day)
  if day and day >= today then today, bought = day, tonumber(count) end
  if bought + quantity > terms.per_day then return DAY_LIMIT_REACHED end
  return nil, today, bought
end

-- ---- What a sale counts ----

-- Sells pieces to a user whom no rule refused. `day` and `bought` are refusal_of_user()'s, and `more`
-- has further fields of the entry. Returns the time when the order has to be paid, or nil; the caller
-- adds it to the deadlines.
local function sell(terms, keys, id, user, order, quantity, day, bought, now, more)
  local entry = {'userId', user, 'voucherId', id, 'id', order, 'limit', terms.per_user,
                 'version', terms.version, 'price', terms.price}
  local function add(name, value)
    entry[#entry + 1] = name
    entry[#entry + 1] = value
  end
  local pieces, due = string.format('%.0f', quantity), nil
  if quantity ~= 1 then add('quantity', pieces) end
  if terms.pay_ms > 0 then
    due = string.format('%.0f', now + terms.pay_ms)
    redis.call('ZCARD', keys.deadlines)
    block_of(keys.held, order)
    add('due', due)
  end
  for _, word in ipairs(more) do entry[#entry + 1] = word end

  -- The stream first: of all the keys, only its type has not been checked by a read.
  local entry_id = append_entry(keys.stream, now, unpack(entry))
  redis.call('DECRBY', keys.stock, pieces)
  if terms.counted then
    redis.call('HINCRBY', keys.buyers, user, pieces)
  else
    redis.call('SADD', keys.buyers, user)
  end
  if terms.per_day > 0 then redis.call('HSET', keys.days, user, day .. ':' .. (bought + quantity)) end
  if terms.total > 0 then
    terms.admitted = string.format('%.0f', redis.call('HINCRBY', keys.voucher, 'admitted', pieces))
  end
  if due then
    local amount = string.format('%.0f', terms.price * quantity)
    set_hold(keys.held, order, id .. ' ' .. user .. ' ' .. pieces .. ' ' .. amount .. ' ' ..
                               string.match(entry_id, '^%d+') .. ' ' .. due)
  end
  return due
end

-- ---- What a returned piece gives back ----

local function keeps_of(terms) return (terms.restock and 0 or 1) + (terms.allowance and 0 or 2) end

local function free_day(terms, keys, user, quantity, admitted_ms)
  local day, count = string.match(redis.call('HGET', keys.days, user) or '', '^(%-?%d+):(%d+)$')
  if not day then return end
  local its_day = math.floor((admitted_ms + terms.offset * 60000) / 86400000)
  if tonumber(day) ~= its_day then return end
  if count - quantity <= 0 then
    redis.call('HDEL', keys.days, user)
  else
    redis.call('HSET', keys.days, user, day .. ':' .. string.format('%.0f', count - quantity))
  end
end

-- Gives pieces back to the stock and to their user, as the terms say.
local function give_back(terms, keys, user, quantity, admitted_ms)
  if terms.restock then
    redis.call('INCRBY', keys.stock, quantity)
    if terms.total > 0 then
      terms.admitted = string.format('%.0f', redis.call('HINCRBY', keys.voucher, 'admitted', -quantity))
    end
  end
  if terms.allowance then
    if not terms.counted then
      redis.call('SREM', keys.buyers, user)
    elseif redis.call('HINCRBY', keys.buyers, user, -quantity) <= 0 then
      redis.call('HDEL', keys.buyers, user)
    end
    if terms.per_day > 0 then free_day(terms, keys, user, quantity, admitted_ms) end
  end
  if terms.restock and not terms.allowance then
    redis.call('HINCRBY', keys.voucher, 'given_back', quantity)
  end
  if terms.allowance and not terms.restock then
    redis.call('HINCRBY', keys.voucher, 'withheld', quantity)
  end
end
-- luacheck: pop
