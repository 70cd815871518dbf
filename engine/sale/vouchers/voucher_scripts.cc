#include "engine/sale/vouchers/voucher_scripts.h"

namespace rushgate::voucher_scripts {
namespace {

// Buyers are a set while nobody may have, or has, more than one; else a hash of counts (`counted`).
// A limit that goes back to 1 makes it a set again only if every count is 1: a set could not hold
// what the others bought.
constexpr const char* kApply = R"lua(
local voucher, stock_key, buyers = KEYS[1], KEYS[2], KEYS[3]
local version, published = tonumber(ARGV[1]), tonumber(ARGV[2])
local total, per_user = tonumber(ARGV[5]), tonumber(ARGV[6])

local now = redis.call('HMGET', voucher, 'version', 'published', 'counted', 'closed')
if now[4] then return {4} end
if now[1] and tonumber(now[1]) >= version then return {2} end

local free
if now[1] then
  local stock = redis.call('GET', stock_key)
  if not stock then return {3} end
  free = tonumber(stock) + published - tonumber(now[2])
  if free < 0 then return {1, -free} end
elseif ARGV[9] == '1' then
  free = published
else
  return {3}
end

-- Convert the buyers, and count them if the total is limited.
local was_counted, counted = now[3] == '1', per_user ~= 1
local admitted = 0
if was_counted then
  local pairs_ = redis.call('HGETALL', buyers)
  local all_one = true
  for i = 2, #pairs_, 2 do
    admitted = admitted + pairs_[i]
    if pairs_[i] ~= '1' then all_one = false end
  end
  if not counted and not all_one then counted = true end
  if not counted then
    redis.call('DEL', buyers)
    for i = 1, #pairs_, 2 do redis.call('SADD', buyers, pairs_[i]) end
  end
elseif counted then
  local users = redis.call('SMEMBERS', buyers)
  admitted = #users
  redis.call('DEL', buyers)
  for i = 1, #users do redis.call('HSET', buyers, users[i], 1) end
else
  admitted = redis.call('SCARD', buyers)
end

redis.call('SET', stock_key, string.format('%.0f', free))
redis.call('HSET', voucher, 'version', ARGV[1], 'published', ARGV[2], 'begin', ARGV[3], 'end', ARGV[4],
           'total', ARGV[5], 'per_user', ARGV[6], 'per_day', ARGV[7], 'offset', ARGV[8],
           'counted', counted and 1 or 0)
if total > 0 then
  redis.call('HSET', voucher, 'admitted', string.format('%.0f', admitted))
else
  redis.call('HDEL', voucher, 'admitted')
end
return {0, free}
)lua";

constexpr const char* kBeginRebuild = R"lua(
local closed = redis.call('HGET', KEYS[1], 'closed')
if closed then
  local time = redis.call('TIME')
  local age = time[1] * 1000 + math.floor(time[2] / 1000) - string.match(closed, '^%d+')
  if age >= 0 and age < tonumber(ARGV[2]) then return {4} end
elseif redis.call('EXISTS', KEYS[2]) == 1 and redis.call('HEXISTS', KEYS[1], 'version') == 1 then
  return {2}
end
redis.call('HSET', KEYS[1], 'closed', ARGV[1])
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
return {0}
)lua";

constexpr const char* kLoadBuyers = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
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

constexpr const char* kFinishRebuild = R"lua(
if redis.call('HGET', KEYS[1], 'closed') ~= ARGV[1] then return {5} end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2])
redis.call('HSET', KEYS[1], 'counted', ARGV[4], 'version', ARGV[5], 'published', ARGV[6], 'begin', ARGV[7],
           'end', ARGV[8], 'total', ARGV[9], 'per_user', ARGV[10], 'per_day', ARGV[11], 'offset', ARGV[12])
if tonumber(ARGV[9]) > 0 then redis.call('HSET', KEYS[1], 'admitted', ARGV[3]) end
return {0}
)lua";

}  // namespace

const Script& apply() {
  static const Script* const script = new Script(kApply);
  return *script;
}

const Script& begin_rebuild() {
  static const Script* const script = new Script(kBeginRebuild);
  return *script;
}

const Script& load_buyers() {
  static const Script* const script = new Script(kLoadBuyers);
  return *script;
}

const Script& finish_rebuild() {
  static const Script* const script = new Script(kFinishRebuild);
  return *script;
}

}  // namespace rushgate::voucher_scripts
