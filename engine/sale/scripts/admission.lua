-- Decides on purchases. native_admission.cc does the same.
--
-- KEYS  1 voucher  2 stock  3 buyers  4 days  5 stream  6 deadlines  7 held  [8 purchase token]
--       [… request, one for each user]
-- ARGV  1 voucher
--       2 '' or '<quantity> <how long the result of a request is kept (ms)> <bytes of a request's key
--         before the idempotency key> <purchase token, or -> <reference>'
--       3 user  4 order  [5 user …]
--
-- '' means one piece, no reference, token or request, the usual case. A call with a token has one user.
--
-- Returns the reply for one user, or an array of replies for several, which are decided on in
-- order. All checks of a user precede the first change for that user. A failure for one of several
-- users fails only that user's reply.
-- #include "admission_rules.lua"
-- #include "engine/recipes/entrance/purchase_token.lua"

local voucher, stock, buyers, days, stream, deadlines, held = unpack(KEYS, 1, 7)
local keys = {voucher = voucher, stock = stock, buyers = buyers, days = days, stream = stream,
              deadlines = deadlines, held = held}
local id, pieces, ttl, prefix, token, reference = ARGV[1], '1', 0, 0, '-', ''
if ARGV[2] ~= '' then
  pieces, ttl, prefix, token, reference = string.match(ARGV[2], '^(%d+) (%d+) (%d+) ([^ ]+) (.*)$')
end
local quantity = tonumber(pieces)
local users = (#ARGV - 2) / 2
local wanted = quantity == 1 and id or id .. 'x' .. pieces
local token_key = token ~= '-' and KEYS[8]
local before_requests = token_key and 8 or 7

local terms = read_terms(keys)
local now = time_ms()
local unpaid, due = {}, nil
local key_until = string.format('%.0f', now + ttl)

local function admit(i)
  local user, order, request = ARGV[2 * i + 1], ARGV[2 * i + 2], KEYS[before_requests + i]

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

  local refusal = refusal_of_time(terms, now) or terms.serves_first and SERVES_FIRST or
                  refusal_of_stock(terms, keys, quantity)
  if refusal then return refusal end
  local day, bought
  refusal, day, bought = refusal_of_user(terms, keys, user, quantity, now)
  if refusal then return refusal end
  if terms.needs_token and not (token_key and state_of_token(token_key, token) == NOW) then
    return TOKEN_REFUSED
  end

  local more = {}
  if reference ~= '' then more = {'reference', reference} end
  if request then
    for _, word in ipairs({'request_key', string.sub(request, prefix + 1), 'request_until', key_until}) do
      more[#more + 1] = word
    end
  end
  local its_due = sell(terms, keys, id, user, order, quantity, day, bought, now, more)
  if its_due then
    due = its_due
    unpaid[#unpaid + 1] = order
  end
  if terms.needs_token then spend_token(token_key, token) end
  if request then
    redis.call('SET', request, user .. ' ' .. wanted .. ' ' .. ACCEPTED .. ' ' .. order, 'PXAT', key_until)
  end
  return ACCEPTED
end

-- The orders of one call have one deadline, so they are one member.
local function set_deadline()
  if due then redis.call('ZADD', deadlines, due, deadline_of(unpaid)) end
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
