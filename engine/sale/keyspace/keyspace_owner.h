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
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace spdlog {
class logger;
}

namespace rushgate {

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
    std::shared_ptr<spdlog::logger> logger = {};  // may be null
  };

  KeyspaceOwner(const SaleStores& stores, const SaleKeys& keys, Options options);

  /// Fences the database, claims the keyspace for it, and compares their checkpoints. If the
  /// keyspace lost writes, removes the terms and the stock of every voucher on sale: the next
  /// purchase of each rebuilds it. And it marks the idempotency keys as lost: no voucher is opened
  /// before all of them are restored (SaleKeys::lost_requests()).
  ///
  /// kFailedPrecondition: the keyspace belongs to another database or another system, or another
  /// copy of this database is open, or was open last and has more. Other errors: of the store that
  /// failed.
  absl::Status verify(Client& client);

  /// As verify(), but fences the database only if the keyspace lost writes. For a keyspace that is
  /// already in use.
  absl::Status check(Client& client);

  /// Returns true if the keyspace has this voucher on sale, or had it when it lost writes. Asks
  /// only the keyspace, unless that has lost everything. Errors: as verify().
  absl::StatusOr<bool> is_on_sale(Client& client, VoucherId voucher);

  /// Draws the next checkpoint. kNotFound: the keyspace lost all of its writes.
  /// kFailedPrecondition: it belongs to another database, or another copy of this one is open.
  absl::StatusOr<std::int64_t> draw_checkpoint(Client& client);
  /// Syncs the keyspace, and records a checkpoint that was drawn before: if the keyspace ever lacks a
  /// write that it has now, verify() notices it. Errors: as draw_checkpoint().
  absl::Status seal(Client& client);

  /// Notes that the database has recorded this checkpoint. The next call that renews the lease tells
  /// the keyspace. So an older copy is noticed when it is opened.
  void note_recorded(std::int64_t checkpoint);
  /// Tells the keyspace at once, for this may be the last call. Does nothing if it was lost.
  /// kFailedPrecondition: another copy is open. Other errors: of the keyspace.
  absl::Status tell_recorded(Client& client);
  /// Acknowledges entries of the order stream that are in the database, if no other copy of it has
  /// taken the lease meanwhile. Does nothing if the keyspace was lost. Errors: as tell_recorded().
  absl::Status acknowledge(Client& client, std::span<const std::string_view> entries);

  /// Renews the lease of this copy of the database. Every call above does so, too, except
  /// is_on_sale() and note_recorded(). Must be called within kLeaseMs by the processes that have it
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

  /// Returns the database's identity; reads it once.
  absl::StatusOr<std::string> identity();

 private:
  absl::StatusOr<DatabaseInstance> instance();
  [[nodiscard]] std::string_view is_private() const { return options_.is_shared ? "0" : "1"; }
  absl::Status other_instance(const Reply& reply) const;
  absl::StatusOr<Reply> run_leased(Client& client, const Script& script,
                                   const Script& without_memory,
                                   std::span<const std::string_view> keys,
                                   std::span<const std::string_view> more);
  absl::StatusOr<bool> claim(Client& client, const DatabaseState& state);
  absl::StatusOr<std::map<VoucherId, bool>> vouchers_on_sale();
  absl::Status recover(Client& client, const DatabaseState& state);

  const SaleStores stores_;
  const SaleKeys keys_;
  const Options options_;
  std::atomic<std::int64_t> recorded_ = 0;  // the greatest of note_recorded()
  std::mutex mutex_;
  std::string identity_;                      // guarded by mutex_; empty: not read yet
  std::optional<DatabaseInstance> instance_;  // guarded by mutex_; nothing: not read yet
};

/// Returns the error of a script that met another database's keyspace.
absl::Status anothers_keyspace(const SaleKeys& keys);

}  // namespace rushgate
