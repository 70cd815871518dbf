// The accepted orders that may still be queued, found without reading the order stream for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/queued_entries.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A set of order ids, in blocks of neighbouring counters. Takes four bytes an order where ids are
/// drawn without gaps, and eight where their pages are known. Not thread-safe.
class OrderIdSet {
 public:
  /// The number of blocks kept: 16 MiB, or 32 with pages, over four million orders. A further block
  /// replaces the oldest.
  static constexpr std::size_t kBlocksMax = 1'024;
  static constexpr std::int64_t kBlockIds = 4'096;
  /// The number of forgotten blocks whose numbers are remembered: 268 million orders.
  static constexpr std::size_t kForgottenMax = 65'536;

  void insert(OrderId id);
  /// Also notes the page of the order stream (from 1) that has the order.
  void insert(OrderId id, std::uint32_t page);
  [[nodiscard]] bool contains(OrderId id) const;
  /// Returns the page that was noted last; 0 if there is none.
  [[nodiscard]] std::uint32_t page_of(OrderId id) const;
  /// Returns true if `id` may have been in a block that was forgotten.
  [[nodiscard]] bool may_have_forgotten(OrderId id) const;
  /// Returns how often a block was forgotten.
  [[nodiscard]] std::uint64_t times_forgotten() const { return times_forgotten_; }
  /// Drops the numbers of forgotten blocks: their orders will not be looked up any more.
  void give_up_forgotten();
  void clear() { *this = OrderIdSet(); }

 private:
  using Numbers = std::array<std::uint32_t, kBlockIds>;  // by counter
  struct Block {
    Numbers seconds = {};  // of the day, at which the id was drawn, plus one; 0: not in the set
    std::unique_ptr<Numbers> pages = {};  // null: none is noted
  };

  static std::int64_t block_of(OrderId id);
  static std::size_t place_of(OrderId id);
  static std::uint32_t second_of(OrderId id);
  Block& block_with(OrderId id);
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
/// each entry that is not yet stored at most once, however many ids are asked for. Thread-safe. Does
/// not own its arguments, which must outlive it.
class QueuedOrders {
 public:
  /// `reads_natively`: the backend has native_queued_entries().
  QueuedOrders(Client& client, const SaleKeys& keys, bool reads_natively = false)
      : client_(client), keys_(keys), reads_natively_(reads_natively) {}

  /// Adds orders that were accepted.
  void add(std::span<const OrderId> accepted);

  /// Returns true if the order is known to be accepted. Returns false if it was not accepted, or if
  /// a worker has acknowledged it. The caller then looks for it in the database and among the dead
  /// letters.
  ///
  /// Reads the order stream on from where the last call stopped. Reads unacknowledged entries once
  /// more only if the order may be one that was forgotten.
  absl::StatusOr<bool> contains(OrderId order);

  /// Returns the order as it was admitted. Empty where contains() returns false, or if the stream
  /// does not have it any more, or a worker has acknowledged it: a stream that is not trimmed keeps
  /// orders that were deleted since. Reads as contains() does, then one page of the stream, at most
  /// kPageEntries, and whether its entry is pending.
  absl::StatusOr<std::optional<Order>> find(OrderId order);
  static constexpr std::size_t kPageEntries = 256;

  /// Visits the queued orders of a user, each with its entry, in the order of the stream. Reads as
  /// contains() does, and then the pages that have one.
  absl::Status for_each_of(const UserId& user,
                           absl::FunctionRef<void(const Order&, const OrderEntry&)> visit);

  /// Forgets all orders: the keyspace may have lost accepted ones.
  void clear();

 private:
  /// Entries of the order stream that were read one after the other: those in (after, last].
  struct Range {
    StreamId after;
    StreamId last = {};
  };
  struct Page {
    Range range;
    std::size_t entries = 0;
    std::array<std::uint32_t, kPageEntries> users = {};  // hash_of() that of each entry's order

    [[nodiscard]] bool may_have(std::uint32_t user) const;
  };
  struct News {
    bool is_restarted = false;   // the stream: it ends before the place that was read up to
    std::string caught_up = {};  // another one: entries that were acknowledged are not any more
    std::vector<QueuedEntry> entries;
  };
  absl::StatusOr<News> read_news(StreamId after, std::size_t count_max);
  absl::StatusOr<bool> read_on_until(absl::FunctionRef<bool()> is_met);
  void note(std::span<const QueuedEntry> entries);
  std::vector<Range> find_pages_of(const UserId& user);
  absl::StatusOr<StreamId> skip_stored();
  absl::StatusOr<std::optional<Order>> find_forgotten(OrderId order);
  struct Found {
    Order order;
    StreamId entry;  // where it is now; not Order::entry if it was dead and retried
  };
  absl::StatusOr<std::optional<Found>> find_in_stream(OrderId order, const Range& range);
  absl::StatusOr<std::optional<Order>> find_queued(OrderId order, const Range& range);
  [[nodiscard]] std::optional<Range> find_page(OrderId order) const;
  void begin_from_scratch();

  Client& client_;
  const SaleKeys keys_;
  const bool reads_natively_;

  // Released while the client is used: a call may suspend this fiber, and another fiber of the
  // thread may enter.
  std::mutex mutex_;
  // Guarded by mutex_:
  OrderIdSet known_;
  StreamId read_to_;                 // entries up to this one are in known_, or are stored
  std::deque<Page> pages_;           // of the unacknowledged entries up to read_to_
  std::size_t read_since_skip_ = 0;  // entries
  std::uint32_t first_page_ = 1;     // the number of the first one
  std::string caught_up_;            // News, when the entries up to read_to_ were read
};

}  // namespace rushgate
