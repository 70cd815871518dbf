// The names of a sale's keys.
#pragma once

#include <string>
#include <string_view>

#include <rushgate/voucher.h>

namespace rushgate {

/// The most lanes of a sale (docs/cluster.md).
inline constexpr int kLanesMax = 64;
/// The lanes of a sale that begins on a Redis Cluster, unless its options say otherwise.
inline constexpr int kLanesOnCluster = 16;

/// The defaults are those of the systems that users migrate from, so both can share a Redis.
struct SaleKeys {
  std::string prefix = "seckill:";
  std::string id_prefix = "icr:order:";  // of the counters: <id_prefix><yyyyMMdd>, strings
  std::string order_stream = "stream.orders";
  std::string group = "g1";

  /// Returns the keys of a lane, from 0 to kLanesMax - 1: these, all behind one hash tag, so that a Redis
  /// Cluster has them on one node. The tags of 2, 4, 8, … lanes are spread evenly over the slots. Of the
  /// keys of a lane, returns those of another one.
  [[nodiscard]] SaleKeys of_lane(int lane) const;
  /// Returns true if the names have a hash tag that puts all keys into one slot.
  [[nodiscard]] bool have_common_tag() const;
  /// Returns the keys of the lane 0 on a Redis Cluster: these if they have a common tag, otherwise
  /// of_lane(0).
  [[nodiscard]] SaleKeys on_cluster() const;

  /// Holds the terms of a voucher. Hash.
  [[nodiscard]] std::string voucher(VoucherId id) const { return of_voucher("voucher:", id); }
  /// Holds the ids of all vouchers. Set.
  [[nodiscard]] std::string vouchers() const { return prefix + "vouchers"; }
  /// Holds the free stock. String.
  [[nodiscard]] std::string stock(VoucherId id) const { return of_voucher("stock:", id); }
  /// Holds the buyers. Set, or hash of counts.
  [[nodiscard]] std::string buyers(VoucherId id) const { return of_voucher("order:", id); }
  /// Holds each user's last day. Hash: user -> day:count.
  [[nodiscard]] std::string days(VoucherId id) const { return of_voucher("day:", id); }
  /// Holds the parameters and the result of a request. String.
  [[nodiscard]] std::string request(std::string_view idempotency_key) const {
    return prefix + "request:" + std::string(idempotency_key);
  }
  /// The prefix of the users' purchase tokens: PurchaseTokensOptions::key_prefix. Strings.
  [[nodiscard]] std::string purchase_tokens() const { return prefix + "purchase-token:"; }
  /// Is there while the keyspace has lost the records of requests, and nobody has restored them
  /// all. Hash: "loss" -> a name that distinguishes this loss from others; one who restores them ->
  /// the number of portions so far.
  [[nodiscard]] std::string lost_requests() const { return prefix + "requests:lost"; }
  /// Holds the orders that are not paid yet, or have ended without that being stored. Hash: order
  /// ids without the last digit -> up to ten orders, as docs/format.md says ("Held orders"). Also
  /// has a field `closed:<voucher>` while a rebuild checks its holds.
  [[nodiscard]] std::string held() const { return prefix + "held"; }
  /// Holds the deadlines of payments. Sorted set: the orders admitted by one call, as "<ids without
  /// the last digit>:<last digits>" separated by spaces, by the time when their payment is due
  /// (ms). Some of them may have ended.
  [[nodiscard]] std::string deadlines() const { return prefix + "deadlines"; }
  /// Holds the payments that are not stored yet, or were stored in the last minute. Hash: payment
  /// -> "<order> <amount> <kind>".
  [[nodiscard]] std::string payments() const { return prefix + "payments"; }
  /// Lists the payments in payments() that are stored. Stream: the ids of one batch in an entry,
  /// separated by spaces.
  [[nodiscard]] std::string stored_payments() const { return prefix + "payments:stored"; }
  /// Holds the refunded orders that were given back since the last rebuild. Hash: order -> 1 if it
  /// keeps the stock, 2 if it keeps its user's allowance, 3 for both, else 0.
  [[nodiscard]] std::string refunds(VoucherId id) const { return of_voucher("refunds:", id); }
  /// Holds the users that wait for a returned piece. Sorted set: user, in the order of arrival.
  [[nodiscard]] std::string waiting(VoucherId id) const { return of_voucher("waiting:", id); }
  /// Holds the order that each waiting user will get. Hash: user -> order.
  [[nodiscard]] std::string waiting_orders(VoucherId id) const {
    return of_voucher("waiting-orders:", id);
  }
  /// Names the database that the stream's orders go to. Hash: identity, checkpoint.
  [[nodiscard]] std::string stream_owner() const { return order_stream + ".database"; }
  /// Names the database that has the vouchers below the prefix. String: its identity.
  [[nodiscard]] std::string prefix_owner() const { return prefix + "database"; }
  /// Holds the versions of vouchers that were put in force, newest last. Stream: the voucher, its title,
  /// and the fields of voucher().
  [[nodiscard]] std::string applied_versions() const { return order_stream + ".versions"; }
  /// Holds the dead letters. Stream.
  [[nodiscard]] std::string dead_letters() const { return order_stream + ".dead"; }
  /// Finds the letter of each dead order. Hash: order -> letter.
  [[nodiscard]] std::string dead_letter_orders() const { return dead_letters() + ".orders"; }
  /// Holds the dead letters that were discarded. Stream.
  [[nodiscard]] std::string discarded_letters() const { return order_stream + ".discarded"; }
  /// Holds the number of faults of entries. Hash: entry -> faults.
  [[nodiscard]] std::string faults() const { return order_stream + ".faults"; }

 private:
  [[nodiscard]] std::string of_voucher(const char* kind, VoucherId id) const {
    return prefix + kind + std::to_string(id);
  }
};

}  // namespace rushgate
