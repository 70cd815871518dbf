// The seckill script that existing systems share, for use on Redis without Rushgate. It checks less
// than Rushgate's own: no window, no day limit, no idempotency key. So the comparison favours the
// peer.
#pragma once

#include <rushgate/script.h>

namespace rushgate::bench {

/// KEYS stock, buyers, orders; ARGV voucher, user, order id. Returns 0 if accepted, 1 if sold out,
/// 2 if already bought.
inline const Script& seckill_script() {
  static const Script* const kScript = new Script(R"lua(
local stock = redis.call('GET', KEYS[1])
if not stock or tonumber(stock) <= 0 then return 1 end
if redis.call('SISMEMBER', KEYS[2], ARGV[2]) == 1 then return 2 end
redis.call('INCRBY', KEYS[1], -1)
redis.call('SADD', KEYS[2], ARGV[2])
redis.call('XADD', KEYS[3], '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0
)lua");
  return *kScript;
}

inline constexpr const char* kStockKey = "seckill:stock:1";
inline constexpr const char* kBuyersKey = "seckill:order:1";
inline constexpr const char* kOrderStream = "stream.orders";

}  // namespace rushgate::bench
