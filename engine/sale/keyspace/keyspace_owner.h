// The owner of a keyspace, which is a database, and the keyspace's newest checkpoint. The
// keyspace's side of DatabaseState.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_move.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct OomScript;

/// Keeps a keyspace and a database consistent. Thread-safe. Does not own the database, which must
/// outlive it.
///
/// A keyspace loses writes only as a suffix of them, and then every connection ends. So verify()
/// runs for each keyspace that is opened, and before a new connection admits anything
/// (docs/how-a-sale-works.md).
class KeyspaceOwner {
 public:
  struct Options {
    bool adopt = false;  // takes over an order stream that another system created
    /// The keyspace is on a server, where the open copy of the database is leased. False: it is in
    /// this process, whose copy takes the lease from any other one. (Others may come by a RESP port.)
    bool is_shared = false;
    /// Goes on without the orders that the database lost and the order stream no longer has.
    bool accept_lost_orders = false;
    KeyspaceRole role = KeyspaceRole::kSale;
    std::shared_ptr<spdlog::logger> logger = {};  // may be null
  };

  KeyspaceOwner(const SaleStores& stores, const SaleKeys& keys, Options options);

  /// Fences the database, claims the keyspace for it, and compares their checkpoints. If the
  /// keyspace lost writes, removes the terms and the stock of every voucher on sale: the next
  /// purchase of each rebuilds it. And it marks the idempotency keys as lost: no voucher is opened
  /// before all of them are restored (SaleKeys::lost_requests()).
  ///
  /// If the database lost batches that it had recorded, lets the workers store their orders again, as far
  /// as the order stream has them. If some are missing there, closes the admission of all vouchers
  /// (unless Options::accept_lost_orders).
  ///
  /// kFailedPrecondition: the keyspace belongs to another database or another system, or another
  /// copy of this database is open. kDataLoss: orders are missing. Other errors: of the store that
  /// failed.
  absl::Status verify(Client& client);

  /// As verify(), but fences the database only if the keyspace lost writes. For a keyspace that is
  /// already in use.
  absl::Status check(Client& client);

  /// As check(), but only if the database has a new session since the last one: what is read there may be older
  /// than what was read before.
  absl::Status check_session(Client& client);

  /// Returns true if the keyspace has this voucher on sale, or had it when it lost writes. Asks
  /// only the keyspace, unless that has lost everything. Errors: as verify().
  absl::StatusOr<bool> is_on_sale(Client& client, VoucherId voucher);

  /// Draws the next checkpoint. kNotFound: the keyspace lost all of its writes.
  /// kFailedPrecondition: it belongs to another database, or another copy of this one is open.
  absl::StatusOr<std::int64_t> draw_checkpoint(Client& client);
  /// Draws a checkpoint for a batch in the present epoch and session, which was checked. Then syncs the
  /// keyspace: the database must never know a checkpoint that a power cut could remove from the log. If it is not
  /// above the database's, the keyspace has lost writes: declares them lost first, as verify() does.
  /// Errors: as check() and draw_checkpoint().
  absl::StatusOr<BatchFence> draw_fence(Client& client);
  /// Records a checkpoint in the database: if the keyspace ever lacks a write that it has now, verify()
  /// notices it. Returns the checkpoint's fence. If check_fence() refuses it with the state from before a write, the
  /// write may be lost already. Errors: as draw_fence().
  absl::StatusOr<BatchFence> seal(Client& client);

  /// A batch that the database has recorded.
  struct Recorded {
    std::int64_t checkpoint = 0;  // drawn for it
    std::int64_t recorded = 0;    // DatabaseState::recorded() after it
    std::int64_t epoch = 0;
  };
  /// Returns this for a batch that was written just now. kAborted: the database may have lost it since,
  /// in a new session.
  absl::StatusOr<Recorded> recorded_with(const BatchFence& fence);
  /// Tells the keyspace what the database has recorded, so that a database that lost it is noticed. Does
  /// nothing if the keyspace was lost, or the database caught up since. kFailedPrecondition: another copy
  /// is open. Other errors: of the keyspace. Then the next call that renews the lease tells it.
  absl::Status tell_recorded(Client& client, const Recorded& batch);
  /// Tells this, and appends the change of the batch, which began in the database, to the order stream: a
  /// database that loses it gets it again. `fields` are those of an event; empty: an earlier entry has the
  /// change. kAborted: the database may have lost it meanwhile. Errors: as tell_recorded().
  absl::Status note_change(Client& client, const Recorded& batch,
                           std::span<const std::string_view> fields);
  /// Tells this, and acknowledges entries of the order stream that are in the batch. Does nothing if the
  /// keyspace was lost. kAborted: the database may have lost the batch, and was caught up since: the
  /// entries are delivered again. Errors: as tell_recorded().
  absl::Status acknowledge(Client& client, const Recorded& batch,
                           std::span<const std::string_view> entries);
  /// Removes entries of the order stream that every group acknowledged `retain_ms` ago, and earlier ones
  /// if it has more than `entries_max`. Returns true if there are others to be removed later. Errors: as
  /// tell_recorded().
  absl::StatusOr<bool> trim(Client& client, std::int64_t retain_ms, std::int64_t entries_max);

  /// Returns kUnavailable while workers store orders and changes again that the database has lost: a change
  /// that begins there might contradict one of them.
  absl::Status check_caught_up(Client& client) const;
  /// Makes sure that entries which are acknowledged now are not given again to a database that has what is
  /// recorded now. Errors: as tell_recorded().
  absl::Status mark(Client& client);

  /// Renews the lease of this copy of the database. Every call above does so, too, except
  /// is_on_sale(). Must be called within kLeaseMs by the processes that have it
  /// open, or another copy may be opened. kFailedPrecondition: another copy is open. Does nothing if
  /// no other copy can have the lease.
  absl::Status renew_lease(Client& client);
  static constexpr std::int64_t kLeaseMs = 15'000;
  /// Returns false if no other copy can have the lease: the database is shared, or the keyspace is in
  /// this process.
  absl::StatusOr<bool> needs_lease();
  /// Returns when to renew the lease (monotonic ms) after a renewal at `now_ms`.
  [[nodiscard]] std::int64_t renewal_after(std::int64_t now_ms) const {
    return options_.is_shared ? now_ms + kLeaseMs / 3 : std::numeric_limits<std::int64_t>::max();
  }

  /// Returns the database's identity, or the mark that stands for it (mark_of()); reads it once.
  absl::StatusOr<std::string> identity();
  /// Returns true if no process of the sale can be at work: an interrupted rebuild is taken over at once.
  [[nodiscard]] bool is_alone() const { return options_.role != KeyspaceRole::kSale; }
  /// Returns why a keyspace that was claimed refuses this database. kUnavailable: the sale is being moved, or
  /// was moved. kFailedPrecondition: it is another database's.
  absl::Status refusal(Client& client);

 private:
  absl::StatusOr<DatabaseInstance> instance();
  Recorded untold();
  absl::Status note_left(const KeyspaceStanding& standing);
  [[nodiscard]] std::string_view is_private() const { return options_.is_shared ? "0" : "1"; }
  absl::Status other_instance(const Reply& reply) const;
  absl::StatusOr<Reply> run_leased(Client& client, const OomScript& leased, const Recorded& batch,
                                   std::span<const std::string_view> keys,
                                   std::span<const std::string_view> more);
  absl::StatusOr<std::int64_t> claim(Client& client, const DatabaseState& state);
  absl::StatusOr<std::map<VoucherId, bool>> vouchers_on_sale();
  absl::Status recover(Client& client, const DatabaseState& state);
  absl::StatusOr<DatabaseState> catch_up(Client& client);
  absl::StatusOr<Recorded> read_recorded(Client& client);
  absl::StatusOr<Reply> rewind(Client& client, const DatabaseState& state, const Recorded& known,
                               bool accept);
  absl::Status close_for_missing(Client& client, const DatabaseState& state, const Reply& missing);

  const SaleStores stores_;
  const SaleKeys keys_;
  const Options options_;
  std::atomic<std::int64_t> session_ = -1;  // the last one in which the keyspace was claimed
  std::mutex mutex_;
  Recorded untold_;       // guarded by mutex_; a batch that may not be told yet
  std::string identity_;  // guarded by mutex_; empty: not read yet; without a mark
  std::optional<DatabaseInstance> instance_;  // guarded by mutex_; nothing: not read yet
  /// Where the sale was moved from this keyspace, as was once met here. Then an empty one does not get it
  /// back: it was emptied after the move. Guarded by mutex_.
  std::string moved_to_;
};

}  // namespace rushgate
