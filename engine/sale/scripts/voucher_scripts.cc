#include "engine/sale/scripts/voucher_scripts.h"

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/held_orders.h"

namespace rushgate::voucher_scripts {
namespace {

// Buyers are a set while no user may have, or has, more than one; otherwise a hash of counts
// (`counted`). When the limit returns to 1, it becomes a set only if every count is 1: a set cannot
// hold larger counts.
//
// Only this conversion takes more time and memory the more buyers there are. One script must read
// them all at once; it writes them in portions that unpack() can take. Hence the bound. A hash may
// stay one, so only the conversion to a hash is refused.
constexpr const char* kApply = R"lua(
local voucher, stock_key, buyers = KEYS[1], KEYS[2], KEYS[3]
local converted_max, id, adopt = tonumber(ARGV[2]), ARGV[3], ARGV[5] == '1'

local identity = redis.call('HGET', KEYS[5], 'identity')
if not identity then return {8} end
if identity ~= ARGV[4] then return {7} end

local new, now, there = {}, {}, {2}
for i = 6, #ARGV, 2 do new[ARGV[i]] = tonumber(ARGV[i + 1]) end
local hash = redis.call('HGETALL', voucher)
for i = 1, #hash, 2 do now[hash[i]] = hash[i + 1] end
for i = 6, #ARGV, 2 do there[#there + 1] = now[ARGV[i]] or false end

if now.closed then return {4} end
if now.version and tonumber(now.version) >= new.version then
  redis.call('SADD', KEYS[4], id)
  return there
end

local free, admitted
local is_adopted = false
if now.version then
  local stock = redis.call('GET', stock_key)
  if not stock then return {3} end
  free = tonumber(stock) + new.published - now.published
  if free < 0 then return {1, -free} end
  admitted = now.admitted or now.published - stock
  local days_changed = new.per_day > 0 and
                       (tonumber(now.per_day or 0) <= 0 or tonumber(now.offset or 0) ~= new.offset)
  if days_changed and redis.call('EXISTS', buyers) == 1 then return {9} end
elseif ARGV[1] == '1' then
  if redis.call('HEXISTS', KEYS[7], 'loss') == 1 then return {11} end
  -- A listed voucher was on sale, and orders may be queued: it is rebuilt. An adoption that failed may
  -- have listed it, too. Then the other system's stock is there.
  local is_listed = redis.call('SISMEMBER', KEYS[4], id) == 1
  if is_listed and not (adopt and redis.call('EXISTS', stock_key) == 1) then return {3} end
  free, admitted = new.published, 0
  if redis.call('EXISTS', stock_key, buyers) > 0 then
    free, admitted = tonumber(redis.call('GET', stock_key) or 0), redis.call('SCARD', buyers)
    if not adopt or free + admitted ~= new.published then return {10, free, admitted} end
    is_adopted = true
  end
else
  return {3}
end

-- Nothing that needs much memory may come after the first write to the buyers: a script that fails
-- keeps what it wrote. Hence the collection before it, and the one before the buyers are read.
local function replace_buyers(command, values, count)
  collectgarbage()
  redis.call('DEL', buyers)
  for i = 1, count, 1000 do
    redis.call(command, buyers, unpack(values, i, math.min(i + 999, count)))
  end
end

local function make_hash()
  collectgarbage()
  local users, values = redis.call('SMEMBERS', buyers), {}
  for i = 1, #users do values[2 * i - 1], values[2 * i] = users[i], 1 end
  replace_buyers('HSET', values, 2 * #users)
end

-- False if it has to stay a hash.
local function make_set()
  local count = redis.call('HLEN', buyers)
  local pieces = admitted + (now.given_back or 0) - (now.withheld or 0)
  if count > converted_max or count ~= pieces then return false end
  collectgarbage()
  local values = redis.call('HGETALL', buyers)
  for i = 1, count do
    if values[2 * i] ~= '1' then return false end
  end
  for i = 1, count do values[i] = values[2 * i - 1] end
  replace_buyers('SADD', values, count)
  return true
end

local was_counted, counted = now.counted == '1', new.per_user ~= 1
local to_hash = counted and not was_counted
if to_hash then
  local count = redis.call('SCARD', buyers)
  if count > converted_max then return {6, count} end
end
-- The first write: an id that is there too early, because what follows failed, does no harm.
redis.call('SADD', KEYS[4], id)
if to_hash then
  make_hash()
elseif was_counted and not counted then
  counted = not make_set()
end

-- Waiting users are served before others buy, at the latest when the window opens.
if new.waiting > 0 and redis.call('ZCARD', KEYS[6]) > 0 then
  redis.call('HSET', voucher, 'serve', 1)
else
  redis.call('HDEL', voucher, 'serve')
end

-- The terms before the stock: a voucher without its stock is rebuilt.
redis.call('HSET', voucher, 'counted', counted and 1 or 0, unpack(ARGV, 6))
if is_adopted then redis.call('HSET', voucher, 'adopting', 1) end
redis.call('SET', stock_key, string.format('%.0f', free))
if new.total > 0 then
  redis.call('HSET', voucher, 'admitted', string.format('%.0f', admitted))
else
  redis.call('HDEL', voucher, 'admitted')
end
return {0}
)lua";

// A second rebuild does no harm: its token makes the first one fail. The claim's age only decides
// how soon the sale goes on, and keeps two rebuilds from disturbing each other.
constexpr const char* kBeginRebuild = R"lua(
local voucher, token, run, abandoned_ms = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local identity = redis.call('HGET', KEYS[5], 'identity')
if not identity then return {8} end
if identity ~= ARGV[4] then return {7} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function is_alive(closed, its_run, since)
  if string.match(closed, '^[^:]*') == string.match(token, '^[^:]*') then return false end
  if run ~= '' and its_run and its_run ~= '' and its_run ~= run then return false end
  local age = now - (since or 0)
  return age >= 0 and age < abandoned_ms
end

local closed = redis.call('HMGET', voucher, 'closed', 'closed_run', 'closed_at')
if closed[1] then
  if is_alive(closed[1], closed[2], closed[3]) then return {4} end
elseif ARGV[5] ~= '1' and redis.call('EXISTS', KEYS[2]) == 1 and redis.call('HEXISTS', voucher, 'version') == 1 then
  return {2}
end
if redis.call('HEXISTS', KEYS[8], 'loss') == 1 then return {11} end
redis.call('HSET', voucher, 'closed', token, 'closed_run', run, 'closed_at', string.format('%.0f', now))
redis.call('HSET', KEYS[6], 'closed:' .. ARGV[6], token)
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[7])
return {0}
)lua";

constexpr const char* kLoadBuyers = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
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
return {0}
)lua";

// A key of another voucher stays that voucher's. GET fails on a key of another type, which SET
// replaces.
constexpr const char* kLoadRequests = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
for i = 2, #KEYS do
  local known = redis.pcall('GET', KEYS[i])
  local its_voucher = type(known) == 'string' and string.match(known, '^[^ ]+ (%-?%d+)') or ARGV[2]
  if its_voucher == ARGV[2] then
    redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'PXAT', ARGV[2 * i])
  end
end
return {0}
)lua";

// A key that has a record was not lost, or is restored already.
constexpr const char* kRestoreRequests = R"lua(
if redis.call('HGET', KEYS[1], 'loss') ~= ARGV[1] then return {5} end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
for i = 2, #KEYS do
  redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'NX', 'PXAT', ARGV[2 * i])
end
return {0}
)lua";

// A keyspace that was rolled back may have kept the loss and lost some of the portions.
constexpr const char* kFinishRequests = R"lua(
if redis.call('HGET', KEYS[1], 'loss') ~= ARGV[1] then return {5} end
if (redis.call('HGET', KEYS[1], ARGV[2]) or '0') ~= ARGV[3] then return {5} end
redis.call('DEL', KEYS[1])
return {0}
)lua";

constexpr const char* kLoadHolds = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
for i = 2, #ARGV, 3 do
  local order, deadline, hold = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if deadline ~= '' then redis.call('ZADD', KEYS[2], deadline, deadline_of({order})) end
  set_hold(KEYS[3], order, hold ~= '' and hold or nil)
end
return {0}
)lua";

// A keyspace that was rolled back may have kept the token and lost some of the buyers.
constexpr const char* kFinishRebuild = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
local buyers = redis.call(ARGV[4] == '1' and 'HLEN' or 'SCARD', KEYS[4])
if buyers ~= tonumber(ARGV[6]) then return {5} end
local new = {}
for i = 10, #ARGV, 2 do new[ARGV[i]] = tonumber(ARGV[i + 1]) end
redis.call('SADD', KEYS[3], ARGV[5])
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], 'counted', ARGV[4], 'epoch', ARGV[9], unpack(ARGV, 10))
if new.total > 0 then redis.call('HSET', KEYS[1], 'admitted', ARGV[3]) end
if ARGV[7] ~= '0' then redis.call('HSET', KEYS[1], 'given_back', ARGV[7]) end
if ARGV[8] ~= '0' then redis.call('HSET', KEYS[1], 'withheld', ARGV[8]) end
if new.waiting > 0 and redis.call('ZCARD', KEYS[6]) > 0 then redis.call('HSET', KEYS[1], 'serve', 1) end
redis.call('HDEL', KEYS[5], 'closed:' .. ARGV[5])
return {0}
)lua";

constexpr const char* kAbandonRebuild = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
redis.call('DEL', KEYS[1])
redis.call('HDEL', KEYS[2], 'closed:' .. ARGV[2])
return {0}
)lua";

// The letter goes with the entry, so that the order is in one place.
constexpr const char* kAppendLost = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
local letter, order = ARGV[2], ARGV[3]
local place = redis.call('HGET', KEYS[4], order)
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
if letter ~= '' then
  redis.call('XDEL', KEYS[3], letter)
  if place == 'dead ' .. letter then redis.call('HDEL', KEYS[4], order) end
end
return {0}
)lua";

}  // namespace

const Script& apply() {
  static const Script* const kScript = new Script(kApply);
  return *kScript;
}

const Script& begin_rebuild() {
  static const Script* const kScript = new Script(kBeginRebuild);
  return *kScript;
}

const Script& load_buyers() {
  static const Script* const kScript = new Script(kLoadBuyers);
  return *kScript;
}

const Script& load_requests() {
  static const Script* const kScript = new Script(kLoadRequests);
  return *kScript;
}

const Script& restore_requests() {
  static const Script* const kScript = new Script(kRestoreRequests);
  return *kScript;
}

const Script& finish_requests() {
  static const Script* const kScript = new Script(kFinishRequests);
  return *kScript;
}

const Script& load_holds() {
  static const Script* const kScript = new Script(concat(kHeldOrdersLua, kLoadHolds));
  return *kScript;
}

const Script& finish_rebuild() {
  static const Script* const kScript = new Script(kFinishRebuild);
  return *kScript;
}

const Script& abandon_rebuild() {
  static const Script* const kScript = new Script(kAbandonRebuild);
  return *kScript;
}

const Script& append_lost() {
  static const Script* const kScript = new Script(kAppendLost);
  return *kScript;
}

}  // namespace rushgate::voucher_scripts
