// The owner of a keyspace, which is a database, and the keyspace's newest checkpoint. The
// keyspace's side of DatabaseState.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

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
/// (docs/internals.md, section 13).
class KeyspaceOwner {
 public:
  struct Options {
    bool adopt = false;  // takes over an order stream that another system created
    std::shared_ptr<spdlog::logger> logger = {};  // may be null
  };

  KeyspaceOwner(const SaleStores& stores, const SaleKeys& keys, Options options);

  /// Fences the database, claims the keyspace for it, and compares their checkpoints. If the
  /// keyspace lost writes, removes the terms and the stock of every voucher on sale: the next
  /// purchase of each rebuilds it.
  ///
  /// kFailedPrecondition: the keyspace belongs to another database or another system. Other errors:
  /// of the store that failed.
  absl::Status verify(Client& client);

  /// As verify(), but fences the database only if the keyspace lost writes. For a keyspace that is
  /// already in use.
  absl::Status check(Client& client);

  /// Returns true if the keyspace has this voucher on sale, or had it when it lost writes. Asks
  /// only the keyspace, unless that has lost everything. Errors: as verify().
  absl::StatusOr<bool> is_on_sale(Client& client, VoucherId voucher);

  /// Draws the next checkpoint. kNotFound: the keyspace lost all of its writes.
  /// kFailedPrecondition: it belongs to another database.
  absl::StatusOr<std::int64_t> draw_checkpoint(Client& client);
  /// Syncs the keyspace, and records a checkpoint that was drawn before: if the keyspace ever lacks a
  /// write that it has now, verify() notices it. Errors: as draw_checkpoint().
  absl::Status seal(Client& client);

  /// Returns the database's identity; reads it once.
  absl::StatusOr<std::string> identity();

 private:
  absl::StatusOr<bool> claim(Client& client, const DatabaseState& state);
  absl::Status recover(Client& client, const DatabaseState& state);

  const SaleStores stores_;
  const SaleKeys keys_;
  const Options options_;
  std::mutex mutex_;
  std::string identity_;  // guarded by mutex_; empty: not read yet
};

/// Returns the error of a script that met another database's keyspace.
absl::Status anothers_keyspace(const SaleKeys& keys);

}  // namespace rushgate
