// The accepted orders that may still be queued, found without reading the order stream for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A set of order ids, in blocks of neighbouring counters. Takes four bytes an order where ids are
/// drawn without gaps. Not thread-safe.
class OrderIdSet {
 public:
  /// The number of blocks kept: 16 MiB, over four million orders. A further block replaces the
  /// oldest.
  static constexpr std::size_t kBlocksMax = 1'024;
  static constexpr std::int64_t kBlockIds = 4'096;
  /// The number of forgotten blocks whose numbers are remembered: 268 million orders.
  static constexpr std::size_t kForgottenMax = 65'536;

  void insert(OrderId id);
  [[nodiscard]] bool contains(OrderId id) const;
  /// Returns true if `id` may have been in a block that was forgotten.
  [[nodiscard]] bool may_have_forgotten(OrderId id) const;
  /// Returns how often a block was forgotten.
  [[nodiscard]] std::uint64_t times_forgotten() const { return times_forgotten_; }
  /// Drops the numbers of forgotten blocks: their orders will not be looked up any more.
  void give_up_forgotten();
  void clear() { *this = OrderIdSet(); }

 private:
  /// For each counter, the second of the day at which the id was drawn, plus one; 0: not in the
  /// set.
  using Block = std::array<std::uint32_t, kBlockIds>;

  static std::int64_t block_of(OrderId id);
  static std::size_t place_of(OrderId id);
  static std::uint32_t second_of(OrderId id);
  void forget(std::int64_t block);

  absl::flat_hash_map<std::int64_t, std::unique_ptr<Block>> blocks_;
  std::deque<std::int64_t> oldest_first_;
  std::int64_t last_block_ = -1;  // a process draws ids one after the other
  Block* last_ = nullptr;
  absl::flat_hash_set<std::int64_t> forgotten_;  // numbers of blocks …
  bool has_forgotten_more_ = false;              // … and there are others
  std::uint64_t times_forgotten_ = 0;
};

/// Knows the orders that this process accepted. Learns of others from the order stream, and reads
/// each entry that is not yet stored at most once. Thread-safe. Does not own its arguments, which
/// must outlive it.
class QueuedOrders {
 public:
  QueuedOrders(Client& client, const SaleKeys& keys) : client_(client), keys_(keys) {}

  /// Adds orders that were accepted.
  void add(std::span<const OrderId> accepted);

  /// Returns true if the order is known to be accepted. Returns false if it was not accepted, or if
  /// a worker has acknowledged it. The caller then looks for it in the database and among the dead
  /// letters.
  ///
  /// Reads the order stream on from where the last call stopped. Reads unacknowledged entries once
  /// more only if the order may be one that was forgotten.
  absl::StatusOr<bool> contains(OrderId order);

  /// Forgets all orders: the keyspace may have lost accepted ones.
  void clear();

 private:
  struct Skipped {
    StreamId stored_to;  // entries up to this one are acknowledged
    StreamId read_to;    // read_to_
  };
  absl::StatusOr<Skipped> skip_stored();
  absl::StatusOr<bool> is_in_stream(OrderId order, StreamId after);

  Client& client_;
  const SaleKeys keys_;

  // Released while the client is used: a call may suspend this fiber, and another fiber of the
  // thread may enter.
  std::mutex mutex_;
  // Guarded by mutex_:
  OrderIdSet known_;
  StreamId read_to_;  // entries up to this one are in known_, or are stored
};

}  // namespace rushgate
