// The work of an order worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/connection_check.h"
#include "engine/sale/ownership/keyspace_owner.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// For one thread, except interrupt(). Does not own its arguments, which must outlive it.
class OrderWorker::Impl {
 public:
  Impl(Backend& backend, const SaleStores& stores, const SaleKeys& keys, WorkerOptions options);

  /// As OrderWorker::step(), with `block_ms` in place of the option.
  Step step(std::int64_t block_ms);
  void interrupt() { client_->unblock(); }
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
    enum class Fate : std::uint8_t { kStored, kRefused, kFault } fate;
    std::string reason;
  };

  /// Orders, each with its entry.
  struct Orders {
    std::vector<Order> orders;
    std::vector<const OrderEntry*> entries;

    void add(const Order& order, const OrderEntry& entry) {
      orders.push_back(order);
      entries.push_back(&entry);
    }
  };
  using OrderSpan = std::span<const Order>;
  using EntrySpan = std::span<const OrderEntry* const>;

  Step work(std::int64_t block_ms);
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
  absl::StatusOr<std::vector<OrderResult>> try_write(OrderSpan orders);
  absl::Status write_all(const Orders& orders, const Orders& suspects,
                         std::vector<Decided>& decided);
  absl::Status write(OrderSpan orders, EntrySpan entries, std::vector<Decided>& decided);
  absl::Status isolate(OrderSpan orders, EntrySpan entries, std::vector<Decided>& decided);
  absl::Status write_suspect(const Order& order, const OrderEntry& entry,
                             std::vector<Decided>& decided);
  [[nodiscard]] bool is_isolating() const { return failed_writes_ >= options_.isolate_after; }
  absl::Status conclude(const std::vector<Decided>& decided, bool is_redelivery, Step& step);
  void report_stored(const std::vector<Decided>& decided) const;
  absl::Status acknowledge_stored(const std::vector<Decided>& decided, bool is_redelivery,
                                  Step& step);
  absl::Status acknowledge(std::span<const OrderEntry* const> entries, bool is_redelivery);
  absl::StatusOr<bool> is_fault_final(const OrderEntry& entry);
  absl::Status trim();
  void keep_undecided(Batch batch, const std::vector<Decided>& decided);
  void drop_batch();
  void release(const OrderEntry& entry);
  void release(Batch& batch);
  void take_released(OrderEntry& entry);
  absl::Status restore_released();
  Step pause(const absl::Status& reason);
  void retry_later();

  const std::unique_ptr<Client> client_;
  const SaleStores stores_;
  const Clock& clock_;
  const SaleKeys keys_;
  const WorkerOptions options_;
  KeyspaceOwner owner_;
  VoucherBook vouchers_;
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
  std::string pause_reason_;
  std::int64_t claim_at_ms_ = 0;    // monotonic
  std::string claim_from_;          // where claiming continues; kClaimFromStart: at the beginning
  std::size_t lost_ = 0;            // in this step
  VoucherBook::Restored restored_;  // in this step
  absl::flat_hash_set<std::string> reported_consumers_;
};

}  // namespace rushgate
