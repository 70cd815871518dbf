// Typical sales for run_rush(), correct and wrong.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {

/// KEYS stock, buyers, orders. Returns 0 if accepted, 1 if sold out, 2 if already bought.
inline constexpr const char* kGoodScript = R"lua(
  if tonumber(redis.call('GET', KEYS[1])) <= 0 then return 1 end
  if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return 2 end
  redis.call('DECR', KEYS[1])
  redis.call('SADD', KEYS[2], ARGV[1])
  redis.call('XADD', KEYS[3], '*', 'user', ARGV[1], 'voucher', ARGV[2])
  return 0
)lua";

/// Returns kGoodScript with `bad` in place of `good`.
inline std::string good_script_but(const std::string& good, const std::string& bad) {
  const std::string script = absl::StrReplaceAll(kGoodScript, {{good, bad}});
  EXPECT_NE(script, kGoodScript) << good;
  return script;
}

/// Returns a script that forgets buyers too soon.
inline std::string forgetful_script() {
  return good_script_but("redis.call('SADD', KEYS[2], ARGV[1])",
                         "redis.call('SADD', KEYS[2], ARGV[1])"
                         "redis.call('PEXPIRE', KEYS[2], 20, 'NX')");
}

inline void put_on_sale(Client& client, const RushVoucher& voucher) {
  client("SET", absl::StrCat("stock:", voucher.id), voucher.stock);
}

inline void add_stock(Client& client, std::int64_t voucher, std::int64_t pieces) {
  client("INCRBY", absl::StrCat("stock:", voucher), pieces);
}

inline ScriptArguments seckill_arguments(const RushRequest& request) {
  return {.keys = {absl::StrCat("stock:", request.voucher),
                   absl::StrCat("buyers:", request.voucher), "orders"},
          .arguments = {absl::StrCat(request.user), absl::StrCat(request.voucher),
                        absl::StrCat(request.number)}};
}

/// Returns a sale of voucher 1 by `script`.
inline SaleUnderTest seckill(std::string script, std::int64_t stock = 10) {
  return {.prepare = [stock](Client& client) { put_on_sale(client, {.stock = stock}); },
          .buy = by_script(std::move(script), seckill_arguments, accepted_if(Reply::integer(0))),
          .orders = orders_in_stream("orders", "user", "voucher")};
}

}  // namespace rushgate::testing
