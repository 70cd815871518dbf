// The scripts that most seckill systems run on their Redis, rewritten from their effects.
#pragma once

#include <string_view>

namespace rushgate::testing {

/// Admission that builds its keys inside, so it cannot run on a Cluster. ARGV: voucher, user,
/// order. Returns 0 (admitted), 1 (sold out) or 2 (the user has bought).
inline constexpr std::string_view kAdmissionBuildingKeys = R"lua(
local voucher, user, order = ARGV[1], ARGV[2], ARGV[3]
local stock_key = 'seckill:stock:' .. voucher
local buyers_key = 'seckill:order:' .. voucher
if tonumber(redis.call('get', stock_key)) <= 0 then
  return 1
end
if redis.call('sismember', buyers_key, user) == 1 then
  return 2
end
redis.call('incrby', stock_key, -1)
redis.call('sadd', buyers_key, user)
redis.call('xadd', 'stream.orders', '*', 'userId', user, 'voucherId', voucher, 'id', order)
return 0
)lua";

/// Admission that gets its keys as KEYS: buyers, stock. ARGV: user, order, voucher. Returns the
/// same codes. The fields of the entry have another order.
inline constexpr std::string_view kAdmissionPassingKeys = R"lua(
local user = ARGV[1]
if tonumber(redis.call('get', KEYS[2])) <= 0 then
  return 1
end
if redis.call('sismember', KEYS[1], user) == 1 then
  return 2
end
redis.call('incrby', KEYS[2], -1)
redis.call('sadd', KEYS[1], user)
redis.call('xadd', 'stream.orders', '*', 'id', ARGV[2], 'userId', user, 'voucherId', ARGV[3])
return 0
)lua";

/// Three limits of a coupon. KEYS: today's hash, the user's hash, the hash of totals. ARGV: maxima
/// per day, per user and in total, user, coupon. Returns 0, or the number of the limit.
inline constexpr std::string_view kCoupon = R"lua(
local user, coupon = ARGV[4], ARGV[5]
local function reached(key, field, maximum)
  return tonumber(redis.call('hget', key, field) or 0) >= tonumber(maximum)
end
if reached(KEYS[1], user, ARGV[1]) then return 1 end
if reached(KEYS[2], coupon, ARGV[2]) then return 2 end
if reached(KEYS[3], coupon, ARGV[3]) then return 3 end
redis.call('hincrby', KEYS[1], user, 1)
redis.call('hincrby', KEYS[2], coupon, 1)
redis.call('hincrby', KEYS[3], coupon, 1)
return 0
)lua";

/// Releases a lock. KEYS: lock. ARGV: owner. Returns 1 if the owner held the lock, which is then
/// deleted. Otherwise returns 0.
inline constexpr std::string_view kUnlock = R"lua(
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
)lua";

}  // namespace rushgate::testing
