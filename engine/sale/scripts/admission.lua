-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 order stream  6 deadlines  7 held
--       [8… request, one for each user]
-- ARGV  1 voucher
--       2 '' or '<quantity> <how long the result of a request is kept (ms)> <bytes of a request's key
--         before the idempotency key> <reference>'
--       3 user  4 order  [5 user …]
--
-- '' means one piece, no reference and no request, the usual case.
--
-- Returns the reply for one user, or an array of replies for several, which are decided on in
-- order. All checks of a user precede the first change for that user. A failure for one of several
-- users fails only that user's reply.
-- #include "admission_codes.lua"
-- #include "entry_time.lua"
-- #include "held_orders.lua"

local voucher, pieces, ttl, prefix, reference = ARGV[1], '1', 0, 0, ''
if ARGV[2] ~= '' then
  pieces, ttl, prefix, reference = string.match(ARGV[2], '^(%d+) (%d+) (%d+) (.*)$')
end
local quantity = tonumber(pieces)
local users = (#ARGV - 2) / 2
local wanted = quantity == 1 and voucher or voucher .. 'x' .. pieces

local terms = redis.call('HMGET', KEYS[1], 'closed', 'begin', 'end', 'total', 'admitted',
                         'counted', 'per_user', 'per_day', 'offset',
                         'version', 'price', 'pay_ms', 'serve')
local total, admitted = tonumber(terms[4]), terms[5] or '0'
local counted, per_user, per_day = terms[6] == '1', tonumber(terms[7]), tonumber(terms[8])
local version, price, pay_ms = terms[10] or '0', terms[11] or '0', tonumber(terms[12] or 0)
local now = time_ms()
local due, unpaid = string.format('%.0f', now + pay_ms), {}
local key_until = string.format('%.0f', now + ttl)

-- As the commands that count read a value.
local function is_integer(text)
  local digits = string.match(text, '^%-?([1-9]%d*)$')
  if not digits then return text == '0' end
  return #digits < 19 or #digits == 19 and digits <= '9223372036854775807'
end
local not_an_integer = 'ERR value is not an integer or out of range'

local function admit(i)
  local user, order, request = ARGV[2 * i + 1], ARGV[2 * i + 2], KEYS[7 + i]

  -- A request that was accepted before gets the same reply. A refused one is decided on once more:
  -- a click before the sale began says nothing of one after it.
  if request then
    local known = redis.call('GET', request)
    if known then
      local its_user, its_wanted, code, its_order = string.match(known, '^([^ ]+) ([^ ]+) (%d+) ([^ ]+)$')
      if its_user ~= user or its_wanted ~= wanted then return KEY_REUSED end
      return {tonumber(code), its_order}
    end
  end

  if terms[1] then return REBUILDING end
  if not terms[2] then return UNKNOWN_VOUCHER end
  if now < tonumber(terms[2]) then return NOT_STARTED end
  if now >= tonumber(terms[3]) then return ENDED end
  if terms[13] then return SERVES_FIRST end

  local stock = redis.call('GET', KEYS[2])
  if not stock then return STOCK_MISSING end
  if not is_integer(stock) then return redis.error_reply(not_an_integer) end
  if tonumber(stock) < quantity then return SOLD_OUT end
  if total > 0 then
    if not is_integer(admitted) then return redis.error_reply('ERR hash value is not an integer') end
    if tonumber(admitted) + quantity > total then return SOLD_OUT end
  end

  if not counted then
    if quantity > 1 or redis.call('SISMEMBER', KEYS[3], user) == 1 then return LIMIT_REACHED end
  else
    local bought = redis.call('HGET', KEYS[3], user) or '0'
    if not is_integer(bought) then return redis.error_reply('ERR hash value is not an integer') end
    if per_user > 0 and tonumber(bought) + quantity > per_user then return LIMIT_REACHED end
  end

  local today, bought_today = 0, 0
  if per_day > 0 then -- an order's day is that of its entry
    today = math.floor((time_of_next_entry(KEYS[5], now) + terms[9] * 60000) / 86400000)
    local day, count = string.match(redis.call('HGET', KEYS[4], user) or '', '^(%-?%d+):(%d+)$')
    day = tonumber(day)
    if day and day >= today then today, bought_today = day, tonumber(count) end
    if bought_today + quantity > per_day then return DAY_LIMIT_REACHED end
  end

  local entry = {'userId', user, 'voucherId', voucher, 'id', order, 'limit', per_user,
                 'version', version, 'price', price}
  local function add_field(name, value)
    entry[#entry + 1] = name
    entry[#entry + 1] = value
  end
  if quantity ~= 1 then add_field('quantity', pieces) end
  if pay_ms > 0 then
    redis.call('ZCARD', KEYS[6])
    block_of(KEYS[7], order)
    add_field('due', due)
  end
  if reference ~= '' then add_field('reference', reference) end
  if request then
    add_field('request_key', string.sub(request, prefix + 1))
    add_field('request_until', key_until)
  end

  -- The stream first: of all the keys, only its type has not been checked by a read above.
  local id = append_entry(KEYS[5], now, unpack(entry))
  redis.call('DECRBY', KEYS[2], pieces)
  if counted then redis.call('HINCRBY', KEYS[3], user, pieces) else redis.call('SADD', KEYS[3], user) end
  if per_day > 0 then redis.call('HSET', KEYS[4], user, today .. ':' .. (bought_today + quantity)) end
  if total > 0 then
    admitted = string.format('%.0f', redis.call('HINCRBY', KEYS[1], 'admitted', pieces))
  end
  if pay_ms > 0 then
    local amount = string.format('%.0f', price * quantity)
    set_hold(KEYS[7], order, voucher .. ' ' .. user .. ' ' .. pieces .. ' ' .. amount .. ' ' ..
                             string.match(id, '^%d+') .. ' ' .. due)
    unpaid[#unpaid + 1] = order
  end
  if request then
    redis.call('SET', request, user .. ' ' .. wanted .. ' ' .. ACCEPTED .. ' ' .. order, 'PXAT', key_until)
  end
  return ACCEPTED
end

-- The orders of one call have one deadline, so they are one member.
local function set_deadline()
  if #unpaid > 0 then redis.call('ZADD', KEYS[6], due, deadline_of(unpaid)) end
end

if users == 1 then
  local reply = admit(1)
  set_deadline()
  return reply
end
local replies = {}
for i = 1, users do
  local done, reply = pcall(admit, i)
  if not done and type(reply) ~= 'table' then reply = redis.error_reply(tostring(reply)) end
  replies[i] = reply
end
set_deadline()
return replies
