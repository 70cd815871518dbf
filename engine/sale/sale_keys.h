// The names of the sale's keys. The defaults are those of the systems that users migrate from, so
// both can share a Redis.
#pragma once

#include <string>
#include <string_view>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

struct SaleKeys {
  std::string prefix = "seckill:";
  std::string id_prefix = "icr:order:";  // of the counters: <id_prefix><yyyyMMdd>, strings
  std::string order_stream = "stream.orders";
  std::string group = "g1";

  [[nodiscard]] std::string voucher(VoucherId id) const {
    return prefix + "voucher:" + std::to_string(id);
  }                                                                           // hash: terms
  [[nodiscard]] std::string vouchers() const { return prefix + "vouchers"; }  // set: their ids
  [[nodiscard]] std::string stock(VoucherId id) const {
    return prefix + "stock:" + std::to_string(id);
  }  // string: free stock
  [[nodiscard]] std::string buyers(VoucherId id) const {
    return prefix + "order:" + std::to_string(id);
  }  // set, or hash of counts
  [[nodiscard]] std::string days(VoucherId id) const {
    return prefix + "day:" + std::to_string(id);
  }  // hash: user -> day:count
  [[nodiscard]] std::string request(std::string_view request_key) const {
    return prefix + "request:" + std::string(request_key);
  }  // string: the request's parameters, and its result
  /// Names the database that the stream's orders go to. Hash: identity, checkpoint.
  [[nodiscard]] std::string stream_owner() const { return order_stream + ".database"; }
  /// Names the database that has the vouchers below the prefix. String: its identity.
  [[nodiscard]] std::string prefix_owner() const { return prefix + "database"; }
  [[nodiscard]] std::string dead_letters() const { return order_stream + ".dead"; }  // stream
  /// Finds the letter of each dead order. Hash: order -> letter.
  [[nodiscard]] std::string dead_letter_orders() const { return dead_letters() + ".orders"; }
  /// Holds the dead letters that were discarded. Stream.
  [[nodiscard]] std::string discarded_letters() const { return order_stream + ".discarded"; }
  [[nodiscard]] std::string faults() const {
    return order_stream + ".faults";
  }  // hash: entry -> faults
};

}  // namespace rushgate
