// The work of an order worker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/client/connection_check.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/queued_cancellations.h"
#include "engine/sale/orders/queued_orders.h"
#include "engine/sale/ownership/keyspace_owner.h"
#include "engine/sale/payments/order_changes.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>

namespace rushgate {

/// For one thread, except interrupt(). Does not own its arguments, which must outlive it.
class OrderWorker::Impl {
 public:
  Impl(Backend& backend, const SaleStores& stores, const SaleKeys& keys, WorkerOptions options);

  /// As OrderWorker::step(), with `block_ms` in place of the option.
  Step step(std::int64_t block_ms);
  /// Waits until its pause ends, at most `wait_ms_max`, or until interrupt().
  void wait_for_end_of_pause(std::int64_t wait_ms_max);
  void interrupt();
  [[nodiscard]] const WorkerOptions& options() const { return options_; }

 private:
  static constexpr std::string_view kHistoryStart = "0-0";

  using Entries = std::vector<OrderEntry>;
  struct Batch {
    Entries entries;
    bool is_redelivery = false;  // another delivery came before, to this consumer or another
  };
  struct Decided {  // the decision about an entry
    const OrderEntry* entry;
    enum class Fate : std::uint8_t { kStored, kRefused, kFault, kTooEarly } fate;
    std::string reason;
    bool lacks_pieces = false;          // as OrderResult says
    bool may_need_earlier = false;      // an entry that another worker has not applied yet
    std::optional<SeenEnds> seen = {};  // if write_again() wrote it, and it lacks pieces
  };

  /// A part of Writes.
  struct WriteSpan {
    std::span<const Order> orders;
    std::span<const OrderEvent> events;
    std::span<const OrderEntry* const> entries;

    [[nodiscard]] std::size_t size() const { return entries.size(); }
    [[nodiscard]] WriteSpan subspan(std::size_t begin, std::size_t count) const {
      return {.orders = events.empty() ? orders.subspan(begin, count) : orders,
              .events = events.empty() ? events : events.subspan(begin, count),
              .entries = entries.subspan(begin, count)};
    }
    [[nodiscard]] WriteSpan first(std::size_t count) const { return subspan(0, count); }
    [[nodiscard]] WriteSpan without_first(std::size_t count) const {
      return subspan(count, size() - count);
    }
  };

  /// Orders or events, each with its entry. Without events of stored orders, which are rare, it is
  /// kept as orders: they take less space and time. An order that was cancelled while it was queued
  /// stays an event, which has its cancellation.
  struct Writes {
    std::vector<Order> orders;
    std::vector<OrderEvent> events;  // if one is more than an order: all; else empty
    std::vector<const OrderEntry*> entries;

    void add(OrderEvent event, const OrderEntry& entry) {
      entries.push_back(&entry);
      const bool is_order = event.kind == OrderEvent::Kind::kAdmitted && !change_before(event);
      if (events.empty() && is_order) {
        orders.push_back(std::move(event.order));
        return;
      }
      for (Order& order : orders) {
        events.push_back({.order = std::move(order)});
        events.back().at_ms = events.back().order.admitted_at_ms;
      }
      orders.clear();
      events.push_back(std::move(event));
    }
    [[nodiscard]] WriteSpan all() const { return {orders, events, entries}; }
  };
  using EntrySpan = std::span<const OrderEntry* const>;

  Step work(std::int64_t block_ms);
  absl::Status renew_lease();
  absl::Status ensure_group();
  absl::Status report_foreign_consumers();
  absl::StatusOr<Batch> take_batch(std::int64_t block_ms);
  absl::StatusOr<Batch> next_batch(std::int64_t block_ms);
  absl::StatusOr<Batch> extend(Batch batch);
  [[nodiscard]] std::int64_t ms_to_wait(std::int64_t block_ms) const;
  [[nodiscard]] std::size_t batch_max() const;
  absl::StatusOr<Entries> read_group(std::string_view after, std::size_t batch_max,
                                     std::int64_t block_ms);
  absl::StatusOr<Entries> read_portion(std::string_view after, std::size_t count_max,
                                       std::int64_t block_ms);
  absl::StatusOr<Entries> claim_abandoned();
  absl::Status report_lost(const Reply& ids);
  Step process(Batch batch);
  Step process_held(Batch& batch);
  absl::StatusOr<BatchFence> draw_fence();
  Step read_again();
  static Decided fault_of(const OrderEntry& entry, const absl::Status& status);
  static void append_results(EntrySpan entries, std::span<const OrderResult> results,
                             std::vector<Decided>& decided);
  absl::StatusOr<OrderEvent> read(const OrderEntry& entry) const;
  absl::StatusOr<std::vector<OrderResult>> try_write(const WriteSpan& writes);
  absl::Status write_all(const Writes& writes, const Writes& suspects,
                         std::vector<Decided>& decided);
  absl::Status write(const WriteSpan& writes, std::vector<Decided>& decided);
  absl::Status isolate(WriteSpan writes, std::vector<Decided>& decided);
  absl::Status write_suspect(const WriteSpan& suspect, std::vector<Decided>& decided);
  [[nodiscard]] bool is_isolating() const { return failed_writes_ >= options_.isolate_after; }
  absl::Status conclude(std::vector<Decided>& decided, bool is_redelivery, Step& step);
  absl::StatusOr<std::vector<Decided>> write_again(std::vector<Decided>& decided);
  absl::StatusOr<StreamId> make_room(std::span<OrderEvent> events);
  void report_stored(const std::vector<Decided>& decided) const;
  absl::Status acknowledge_stored(const std::vector<Decided>& decided, bool is_redelivery,
                                  Step& step);
  absl::Status acknowledge(std::span<const OrderEntry* const> entries, bool is_redelivery);
  absl::Status forget_ends(std::span<const OrderEntry* const> entries);
  absl::StatusOr<bool> note_stored(std::string_view payments);
  absl::Status conclude_unstored(Decided& one, absl::flat_hash_set<OrderId>& waiting, Step& step);
  absl::StatusOr<bool> is_final(Decided& decided, const absl::flat_hash_set<OrderId>& waiting);
  absl::StatusOr<bool> has_ended_since(SeenEnds& seen);
  absl::StatusOr<StreamId> find_first_pending_besides(const std::vector<Decided>& decided);
  static bool is_refused(const Decided& decided) {
    return decided.fate == Decided::Fate::kRefused || decided.fate == Decided::Fate::kTooEarly;
  }
  absl::StatusOr<bool> is_fault_final(const OrderEntry& entry);
  absl::Status expire_holds(Step& step);
  [[nodiscard]] bool has_payments() const { return stores_.orders.payments() != nullptr; }
  absl::Status trim();
  void keep_undecided(Batch batch, const std::vector<Decided>& decided);
  void drop_batch();
  void release(const OrderEntry& entry);
  void release(Batch& batch);
  void take_released(OrderEntry& entry);
  absl::Status restore_released();
  absl::StatusOr<std::size_t> repeat_released();
  Step pause(const absl::Status& reason);
  void retry_later();

  const std::unique_ptr<Client> client_;
  const SaleStores stores_;
  const Clock& clock_;
  const SaleKeys keys_;
  const WorkerOptions options_;
  KeyspaceOwner owner_;
  VoucherBook vouchers_;
  QueuedOrders queued_;
  OrderChanges changes_;
  QueuedCancellations queued_cancellations_;
  QueuedCancellations dead_cancellations_;
  std::atomic<bool> has_stale_cancellations_{false};  // since a new connection
  const OwnedConnectionCheck connection_check_;

  std::string consumer_;    // its name in the group; known once group_exists_
  DatabaseState database_;  // at the time when the batch now written was read
  BatchFence fence_;        // of the batch now written
  bool group_exists_ = false;
  std::optional<std::string> history_after_ = std::string(
      kHistoryStart);  // where reading its own pending entries continues; nothing: all read
  std::int64_t retry_at_ms_ = 0;  // monotonic; 0: nothing to retry
  std::optional<Batch> kept_;     // the batch that it paused with
  // Entries that must be read once more. The keyspace may have lost the ones that it does not
  // return then.
  absl::flat_hash_map<std::string, OrderEntry> released_;
  std::int64_t read_at_ms_ = 0;   // monotonic: when the entries in kept_ were read
  int failed_writes_ = 0;         // consecutive pauses caused by the order store
  std::size_t failed_alone_ = 0;  // orders at its front that failed alone in the last attempt
  std::size_t tried_alone_ = 0;   // orders that failed alone since failed_writes_ was 0
  absl::flat_hash_set<std::string>
      suspects_;    // entries whose orders failed while others were stored: they are written alone
  int pauses_ = 0;  // consecutive
  std::int64_t paused_until_ms_ = 0;  // monotonic
  std::mutex pause_mutex_;
  std::condition_variable interrupted_;
  bool is_interrupted_ = false;  // guarded by pause_mutex_
  std::string pause_reason_;
  std::int64_t renew_at_ms_ = 0;   // monotonic: when to renew the lease of the database
  std::int64_t claim_at_ms_ = 0;   // monotonic
  std::string claim_from_;         // where claiming continues; kClaimFromStart: at the beginning
  std::int64_t expire_at_ms_ = 0;  // monotonic: when to look for holds that are due
  std::int64_t look_for_lost_at_ms_ = 0;  // monotonic: … and for lost holds and opened windows
  std::size_t lost_ = 0;                  // in this step
  RestoredOrders restored_;        // in this step
  absl::flat_hash_set<std::string> reported_consumers_;
};

}  // namespace rushgate
