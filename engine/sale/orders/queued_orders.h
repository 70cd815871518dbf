// Which orders were accepted and may be queued still, without reading the order stream for each.
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
#include "engine/base/stream_id.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Orders by id, in blocks of neighbouring counters: four bytes an order where ids are given
/// without gaps. Not thread-safe.
class OrderIdSet {
 public:
  /// The blocks that are kept: 16 MiB, over four million orders. A further one takes the place of
  /// the oldest.
  static constexpr std::size_t kBlocksMax = 1'024;
  static constexpr std::int64_t kBlockIds = 4'096;
  /// The numbers of blocks that are remembered once the blocks are forgotten: 268 million orders.
  static constexpr std::size_t kForgottenMax = 65'536;

  void insert(OrderId id);
  [[nodiscard]] bool contains(OrderId id) const;
  /// Returns true if `id` may have been in a block that is not kept any more.
  [[nodiscard]] bool may_have_forgotten(OrderId id) const;
  /// How often a block was forgotten.
  [[nodiscard]] std::uint64_t times_forgotten() const { return times_forgotten_; }
  /// None of the orders of the blocks that were forgotten is asked for any more.
  void give_up_forgotten();
  void clear() { *this = OrderIdSet(); }

 private:
  /// For each counter, the second of the day at which the id was made, plus one; 0: not there.
  using Block = std::array<std::uint32_t, kBlockIds>;

  static std::int64_t block_of(OrderId id);
  static std::size_t place_of(OrderId id);
  static std::uint32_t second_of(OrderId id);
  void forget(std::int64_t block);

  absl::flat_hash_map<std::int64_t, std::unique_ptr<Block>> blocks_;
  std::deque<std::int64_t> oldest_first_;
  std::int64_t last_block_ = -1;  // the ids of a process come one after the other
  Block* last_ = nullptr;
  absl::flat_hash_set<std::int64_t> forgotten_;  // numbers of blocks …
  bool has_forgotten_more_ = false;              // … and there are others
  std::uint64_t times_forgotten_ = 0;
};

/// Knows the orders that this process accepted, and reads each entry of the order stream that is
/// not yet stored at most once to learn of others. Thread-safe. Does not own what it is given.
class QueuedOrders {
 public:
  QueuedOrders(Client& client, const SaleKeys& keys) : client_(client), keys_(keys) {}

  /// Notes orders that were accepted.
  void add(std::span<const OrderId> accepted);

  /// Returns true if the order was accepted. False if it was not, or if a worker has acknowledged
  /// it: the caller looks where those are. The order stream is read on from where the last call
  /// stopped; what no worker has acknowledged is read again only if the order may be one of the
  /// many that were forgotten.
  absl::StatusOr<bool> contains(OrderId order);

  /// Forgets all: the keyspace may have lost orders that were accepted.
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

  // Not held while the client is used: it may suspend a fiber, and another of its thread come here.
  std::mutex mutex_;
  // Guarded by mutex_:
  OrderIdSet known_;
  StreamId read_to_;  // entries up to this one are in known_, or are stored
};

}  // namespace rushgate
