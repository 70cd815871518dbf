#include "engine/sale/scripts/payment_scripts.h"

#include <string>

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/entry_time.h"
#include "engine/sale/scripts/held_orders.h"

namespace rushgate::payment_scripts {
namespace {

// Gives pieces back to the stock and to their user, as the terms say. read_terms() returns nil if
// the voucher is closed or lost.
//
// published = stock + pieces of all buyers - given_back + withheld:
// - given_back: pieces in the stock again that still count against their user;
// - withheld: pieces that were sold and are neither in the stock nor a buyer's.
constexpr const char* kGiveBack = R"lua(
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
)lua";

// The waiting list: admission to it, and the sale of free pieces to waiting users, in the order of
// their arrival. A user at the limit is dropped.
//
// `keys` has voucher, stock, buyers, days, deadlines, held, stream, waiting and orders.
constexpr const char* kServe = R"lua(
-- Returns the day of an order that is admitted now, and the pieces bought on it; nil if the user may not
-- buy one more piece.
local function allowance_of(terms, keys, user, now)
  if terms.counted then
    local bought = tonumber(redis.call('HGET', keys.buyers, user) or 0)
    if terms.per_user > 0 and bought >= terms.per_user then return nil end
  elseif redis.call('SISMEMBER', keys.buyers, user) == 1 then
    return nil
  end
  if terms.per_day == 0 then return 0, 0 end
  local today = math.floor((time_of_next_entry(keys.stream, now) + terms.offset * 60000) / 86400000)
  local day, count = string.match(redis.call('HGET', keys.days, user) or '', '^(%-?%d+):(%d+)$')
  if not day or tonumber(day) < today then return today, 0 end
  if tonumber(count) >= terms.per_day then return nil end
  return tonumber(day), tonumber(count)
end

local function is_total_reached(terms, keys)
  if terms.total == 0 then return false end
  return tonumber(redis.call('HGET', keys.voucher, 'admitted') or 0) >= terms.total
end

-- `day` and `count`: as allowance_of() returns them.
local function sell(terms, keys, id, user, order, day, count, now)
  local due = string.format('%.0f', now + terms.pay_ms)
  local entry = {'userId', user, 'voucherId', id, 'id', order, 'limit', terms.per_user,
                 'version', terms.version, 'price', terms.price}
  if terms.pay_ms > 0 then
    entry[#entry + 1] = 'due'
    entry[#entry + 1] = due
  end
  local admitted = append_entry(keys.stream, now, unpack(entry))
  redis.call('DECR', keys.stock)
  if terms.counted then redis.call('HINCRBY', keys.buyers, user, 1) else redis.call('SADD', keys.buyers, user) end
  if terms.per_day > 0 then redis.call('HSET', keys.days, user, day .. ':' .. (count + 1)) end
  if terms.total > 0 then redis.call('HINCRBY', keys.voucher, 'admitted', 1) end
  if terms.pay_ms > 0 then
    redis.call('ZADD', keys.deadlines, due, deadline_of({order}))
    set_hold(keys.held, order, id .. ' ' .. user .. ' 1 ' .. terms.price .. ' ' ..
                               string.match(admitted, '^%d+') .. ' ' .. due)
  end
end

-- Returns how many users were served or dropped, at most `most`. Where it leaves users that could be
-- served, nobody else may buy until they are.
local function serve(terms, keys, id, most, now)
  local visited = 0
  if terms.waiting == 0 or now < terms.begins or now >= terms.ends then return 0 end
  while visited < most and tonumber(redis.call('GET', keys.stock)) > 0 and not is_total_reached(terms, keys) do
    local user = redis.call('ZRANGE', keys.waiting, 0, 0)[1]
    if not user then break end
    local order = redis.call('HGET', keys.orders, user)
    local day, count
    if order then day, count = allowance_of(terms, keys, user, now) end
    if day then sell(terms, keys, id, user, order, day, count, now) end
    visited = visited + 1
    redis.call('ZREM', keys.waiting, user)
    redis.call('HDEL', keys.orders, user)
  end
  local leaves_users = visited == most and tonumber(redis.call('GET', keys.stock)) > 0 and
                       not is_total_reached(terms, keys) and redis.call('ZCARD', keys.waiting) > 0
  if leaves_users then
    redis.call('HSET', keys.voucher, 'serve', 1)
  elseif terms.serves_first then
    redis.call('HDEL', keys.voucher, 'serve')
  end
  return visited
end
)lua";

// A payment that is not stored yet: the reply for the same one; nil if there is none.
constexpr const char* kKnownPayment = R"lua(
local function known_payment(payments, payment, order, amount)
  local known = redis.call('HGET', payments, payment)
  if not known then return nil end
  local its_order, its_amount, kind = string.match(known, '^(%d+) (%d+) (.+)$')
  if its_order ~= order or its_amount ~= amount then return {2, its_order .. ' ' .. its_amount} end
  return {1, kind}
end
)lua";

// A hold (SaleKeys::held()), or its end.
constexpr const char* kReadHold = R"lua(
-- Returns voucher, user, quantity, amount, time of the admission and deadline; nil for an end.
local function read_hold(text)
  return string.match(text, '^(%d+) ([^ ]+) (%d+) (%d+) (%d+) (%d+)$')
end
)lua";

// The stream first: of all the keys, only its type has not been checked by a read.
constexpr const char* kPay = R"lua(
local held, payments, stream, dead_orders = unpack(KEYS)

local function pay(order, payment, amount)
  local known = known_payment(payments, payment, order, amount)
  if known then return known end
  local hold = hold_of(held, order)
  if not hold then return {5} end
  local voucher, user, _, due_amount = read_hold(hold)
  if not voucher then return {4, hold} end
  if redis.call('HEXISTS', held, 'closed:' .. voucher) == 1 then return {6, voucher} end
  local dead = redis.call('HGET', dead_orders, order)
  if dead then return {10, dead} end
  if due_amount ~= amount then return {3, due_amount} end
  redis.call('XADD', stream, '*', 'event', 'paid', 'id', order, 'userId', user, 'voucherId', voucher,
             'payment', payment, 'amount', amount)
  redis.call('HSET', payments, payment, order .. ' ' .. amount .. ' paid')
  set_hold(held, order, voucher .. ' ' .. user .. ' paid ' .. payment)
  return {0}
end

local replies = {}
for i = 1, #ARGV, 3 do
  local done, reply = pcall(pay, ARGV[i], ARGV[i + 1], ARGV[i + 2])
  if not done and type(reply) ~= 'table' then reply = redis.error_reply(tostring(reply)) end
  replies[#replies + 1] = reply
end
return replies
)lua";

constexpr const char* kRecordSurplus = R"lua(
local order, voucher, user, payment, amount, reason = unpack(ARGV)
if redis.call('HEXISTS', KEYS[3], 'identity') == 0 then return {6} end
local known = known_payment(KEYS[1], payment, order, amount)
if known then return known end
redis.call('XADD', KEYS[2], '*', 'event', 'surplus payment', 'id', order, 'userId', user,
           'voucherId', voucher, 'payment', payment, 'amount', amount, 'reason', reason)
redis.call('HSET', KEYS[1], payment, order .. ' ' .. amount .. ' surplus payment')
return {0}
)lua";

// An id may have any byte but a space.
constexpr const char* kNoteStored = R"lua(
local payments, stored = KEYS[1], KEYS[2]
local ids, keep_ms, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local function forget(batch)
  local gone = {}
  for id in string.gmatch(batch, '[^ ]+') do gone[#gone + 1] = id end
  redis.call('HDEL', payments, unpack(gone))
end
if ids ~= '' and type(redis.pcall('XADD', stored, '*', 'ids', ids)) == 'table' then forget(ids) end
local now = time_ms()
local old = redis.call('XRANGE', stored, '-', string.format('%.0f', now - keep_ms - 1), 'COUNT', most)
for _, batch in ipairs(old) do
  forget(batch[2][2])
  redis.call('XDEL', stored, batch[1])
end
return #old
)lua";

constexpr const char* kCancel = R"lua(
local voucher, stock, buyers, days, deadlines, held, stream, waiting, orders = unpack(KEYS)
local keys = {voucher = voucher, stock = stock, buyers = buyers, days = days, deadlines = deadlines,
              held = held, stream = stream, waiting = waiting, orders = orders}
local id, only_due, reason, actor = ARGV[1], ARGV[2] == '1', ARGV[3], ARGV[4]
local now = time_ms()
local terms = read_terms(voucher, stock)
local is_closed = not terms or redis.call('HEXISTS', held, 'closed:' .. id) == 1
local may_serve = 256 -- users, in one script

local function end_hold(order)
  local hold = hold_of(held, order)
  if not hold then return {5} end
  local its_voucher, user, quantity, _, admitted, deadline = read_hold(hold)
  if not its_voucher then return {4, hold} end
  if is_closed then return {6} end
  if only_due and tonumber(deadline) > now then return {7} end
  if its_voucher ~= id then return {5} end
  local keeps = keeps_of(terms)
  append_entry(stream, now, 'event', 'cancelled', 'id', order, 'userId', user, 'voucherId', id,
               'keeps', keeps, 'reason', reason, 'actor', actor)
  give_back(terms, voucher, stock, buyers, days, user, quantity, admitted)
  set_hold(held, order, id .. ' ' .. user .. ' cancelled ' .. actor)
  if not terms.restock or terms.waiting == 0 then return {0} end
  may_serve = may_serve - serve(terms, keys, id, may_serve, now)
  return may_serve > 0 and {0} or {0, 1}
end

local replies = {}
for i = 5, #ARGV do replies[#replies + 1] = end_hold(ARGV[i]) end
return replies
)lua";

constexpr const char* kAddHeld = R"lua(
local looked_up = 0

-- Adds the voucher and the held orders of a deadline, if there are any. Returns their number.
local function add_held(member, found)
  local its_orders = {''}
  for _, order in ipairs(orders_of(member)) do
    local hold = hold_of(KEYS[2], order)
    local its_voucher = hold and read_hold(hold)
    if its_voucher then
      its_orders[1] = its_voucher
      its_orders[#its_orders + 1] = order
    end
    looked_up = looked_up + 1
  end
  if #its_orders > 1 then found[#found + 1] = its_orders end
  return #its_orders - 1
end
)lua";

constexpr const char* kFindDue = R"lua(
local deadlines, looked_up_max = KEYS[1], 4096
local now = string.format('%.0f', time_ms())
local skip, most = tonumber(ARGV[1]), tonumber(ARGV[2])

local found, count = {now, ''}, 0
while count < most and looked_up < looked_up_max do
  local members, ended = redis.call('ZRANGEBYSCORE', deadlines, '-inf', now, 'LIMIT', skip, 16), {}
  if #members == 0 then break end
  for _, member in ipairs(members) do
    local orders = add_held(member, found)
    count = count + orders
    if orders > 0 then skip = skip + 1 else ended[#ended + 1] = member end
    if count >= most or looked_up >= looked_up_max then break end
  end
  if #ended > 0 then redis.call('ZREM', deadlines, unpack(ended)) end
end
found[2] = redis.call('ZRANGE', deadlines, skip, skip, 'WITHSCORES')[2] or ''
return found
)lua";

constexpr const char* kRemoveEnded = R"lua(
local rank, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local members, ended = redis.call('ZRANGE', KEYS[1], rank, rank + most - 1), {}
for _, member in ipairs(members) do
  if add_held(member, {}) == 0 then ended[#ended + 1] = member end
end
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
return {#members, #ended}
)lua";

constexpr const char* kRemoveHeld = R"lua(
local removed = 0
for _, order in ipairs(ARGV) do
  if hold_of(KEYS[1], order) then
    set_hold(KEYS[1], order, nil)
    removed = removed + 1
  end
end
return removed
)lua";

constexpr const char* kGiveBackRefund = R"lua(
local voucher, stock, buyers, days, refunds, deadlines, held, stream, waiting, orders = unpack(KEYS)
local keys = {voucher = voucher, stock = stock, buyers = buyers, days = days, deadlines = deadlines,
              held = held, stream = stream, waiting = waiting, orders = orders}
local order, user, quantity, admitted, id, epoch = unpack(ARGV)
local rebuilt_in = tonumber(redis.call('HGET', voucher, 'epoch') or 0)
if rebuilt_in > tonumber(epoch) then return {9, rebuilt_in} end
local keeps = redis.call('HGET', refunds, order)
if keeps then return {0, tonumber(keeps), 0} end
local terms = read_terms(voucher, stock)
if not terms then return {6} end
keeps = keeps_of(terms)
give_back(terms, voucher, stock, buyers, days, user, quantity, admitted)
redis.call('HSET', refunds, order, keeps)
local served = terms.restock and serve(terms, keys, id, 256, time_ms()) or 0
return {0, keeps, served == 256 and 1 or 0}
)lua";

constexpr const char* kNameKeys = R"lua(
local voucher, stock, buyers, days, deadlines, held, stream, waiting, orders = unpack(KEYS)
local keys = {voucher = voucher, stock = stock, buyers = buyers, days = days, deadlines = deadlines,
              held = held, stream = stream, waiting = waiting, orders = orders}
)lua";

constexpr const char* kServeWaiting = R"lua(
local terms = read_terms(voucher, stock)
if not terms then return 0 end
return serve(terms, keys, ARGV[1], tonumber(ARGV[2]), time_ms())
)lua";

// A user keeps the place and the order of the first call.
constexpr const char* kWait = R"lua(
local id, user, order = ARGV[1], ARGV[2], ARGV[3]
local function place_of(user) return redis.call('ZRANK', waiting, user) + 1 end
local known = redis.call('HGET', orders, user)
if known and redis.call('ZSCORE', waiting, user) then return {1, known, place_of(user)} end
if redis.call('EXISTS', voucher) == 0 then return {7} end
local terms = read_terms(voucher, stock)
if not terms then return {6} end
if terms.waiting == 0 then return {3} end
local now = time_ms()
if now < terms.begins or now >= terms.ends then return {4} end
if not allowance_of(terms, keys, user, now) then return {5} end
local size = redis.call('ZCARD', waiting)
local is_sold_out = tonumber(redis.call('GET', stock)) < 1 or is_total_reached(terms, keys)
if size == 0 and not is_sold_out then return {8} end
if size >= terms.waiting then return {2} end
local last = redis.call('ZRANGE', waiting, -1, -1, 'WITHSCORES')[2] or 0
redis.call('ZADD', waiting, string.format('%.0f', last + 1), user)
redis.call('HSET', orders, user, order)
return {0, order, size + 1}
)lua";

constexpr const char* kLookAtWaitingList = R"lua(
local terms = read_terms(voucher, stock)
local users = redis.call('ZCARD', waiting)
if not terms or users == 0 then return {users, 0, terms and tonumber(terms.version) or 0} end
local now = time_ms()
local is_open = terms.waiting > 0 and not terms.serves_first and now >= terms.begins and now < terms.ends
local is_free = tonumber(redis.call('GET', stock)) > 0 and not is_total_reached(terms, keys)
return {users, is_open and is_free and 1 or 0, tonumber(terms.version)}
)lua";

constexpr const char* kAppendEvent = R"lua(
if hold_of(KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
return 1
)lua";

// The hold has to be as it was read. Nothing may end it while a rebuild checks it.
constexpr const char* kCorrectHold = R"lua(
local order, present, right, due = unpack(ARGV)
if hold_of(KEYS[1], order) ~= present then return 0 end
if redis.call('HEXISTS', KEYS[1], 'closed:' .. string.match(right, '^%d+')) == 1 then return 0 end
redis.call('ZADD', KEYS[2], due, deadline_of({order}))
set_hold(KEYS[1], order, right)
return 1
)lua";

constexpr const char* kAppendPayment = R"lua(
local held, payments, stream = unpack(KEYS)
local payment, known, order, voucher, user, kind, amount = unpack(ARGV)
if redis.call('HGET', payments, payment) ~= known then return 0 end
if redis.call('HEXISTS', held, 'closed:' .. voucher) == 1 then return 0 end
local entry = {'event', kind, 'id', order, 'userId', user, 'voucherId', voucher,
               'payment', payment, 'amount', amount}
local _, _, _, due_amount = read_hold(hold_of(held, order) or '')
local ends_hold = kind == 'paid' and due_amount == amount
if kind ~= 'paid' then
  entry[#entry + 1] = 'reason'
  entry[#entry + 1] = 'repaired'
end
redis.call('XADD', stream, '*', unpack(entry))
if ends_hold then set_hold(held, order, voucher .. ' ' .. user .. ' paid ' .. payment) end
return 1
)lua";

constexpr const char* kForgetPayment = R"lua(
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('HDEL', KEYS[1], ARGV[1])
)lua";

constexpr const char* kLeave = R"lua(
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
)lua";

std::string cancel_text() {
  return concat(kEntryTimeLua, kHeldOrdersLua, kReadHold, kGiveBack, kServe, kCancel);
}

/// Returns a script about the waiting list of one voucher.
std::string waiting_list_text(std::string_view rest) {
  return concat(kEntryTimeLua, kHeldOrdersLua, kGiveBack, kServe, kNameKeys, rest);
}

}  // namespace

const Script& pay() {
  static const Script* const kScript =
      new Script(concat(kHeldOrdersLua, kReadHold, kKnownPayment, kPay), std::string(kNativePay));
  return *kScript;
}

const Script& record_surplus() {
  static const Script* const kScript = new Script(std::string(kKnownPayment) + kRecordSurplus);
  return *kScript;
}

const Script& note_stored() {
  static const Script* const kScript = new Script(concat(kEntryTimeLua, kNoteStored));
  return *kScript;
}

const Script& cancel() {
  static const Script* const kScript = new Script(cancel_text(), std::string(kNativeCancel));
  return *kScript;
}

const Script& cancel_serving() {
  static const Script* const kScript = new Script(cancel_text());
  return *kScript;
}

const Script& find_due() {
  static const Script* const kScript =
      new Script(concat(kEntryTimeLua, kHeldOrdersLua, kReadHold, kAddHeld, kFindDue),
                 std::string(kNativeFindDue));
  return *kScript;
}

const Script& remove_held() {
  static const Script* const kScript =
      new Script(concat(kHeldOrdersLua, kRemoveHeld), std::string(kNativeRemoveHeld));
  return *kScript;
}

const Script& remove_ended() {
  static const Script* const kScript =
      new Script(concat(kHeldOrdersLua, kReadHold, kAddHeld, kRemoveEnded));
  return *kScript;
}

const Script& give_back() {
  static const Script* const kScript =
      new Script(concat(kEntryTimeLua, kHeldOrdersLua, kGiveBack, kServe, kGiveBackRefund));
  return *kScript;
}

const Script& serve_waiting() {
  static const Script* const kScript = new Script(waiting_list_text(kServeWaiting));
  return *kScript;
}

const Script& wait() {
  static const Script* const kScript = new Script(waiting_list_text(kWait));
  return *kScript;
}

const Script& look_at_waiting_list() {
  static const Script* const kScript = new Script(waiting_list_text(kLookAtWaitingList));
  return *kScript;
}

const Script& append_event() {
  static const Script* const kScript = new Script(concat(kHeldOrdersLua, kAppendEvent));
  return *kScript;
}

const Script& correct_hold() {
  static const Script* const kScript = new Script(concat(kHeldOrdersLua, kCorrectHold));
  return *kScript;
}

const Script& append_payment() {
  static const Script* const kScript =
      new Script(concat(kHeldOrdersLua, kReadHold, kAppendPayment));
  return *kScript;
}

const Script& forget_payment() {
  static const Script* const kScript = new Script(kForgetPayment);
  return *kScript;
}

const Script& leave() {
  static const Script* const kScript = new Script(kLeave);
  return *kScript;
}

}  // namespace rushgate::payment_scripts
