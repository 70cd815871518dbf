// Which database a keyspace belongs to, and how far it remembers: the keyspace's side of
// DatabaseState (orders/order_store.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"

namespace spdlog {
class logger;
}

namespace rushgate {

/// Keeps a keyspace and a database together. Thread-safe. Does not own the database, which must
/// outlive it.
///
/// A keyspace loses writes only as a suffix of them, and every connection ends when it does. So
/// verify() runs before anything is admitted over a new connection, and for each keyspace that is
/// opened (docs/internals.md, section 13).
class KeyspaceOwner {
 public:
  struct Options {
    bool adopt = false;  // an order stream that another system made is taken over
    std::shared_ptr<spdlog::logger> logger = {};  // may be null
  };

  KeyspaceOwner(OrderStore& orders, const SaleKeys& keys, Options options);

  /// Fences the database, claims the keyspace for it, and compares their checkpoints. Where the
  /// keyspace lost writes, removes the terms and the stock of every voucher on sale: the next buyer
  /// of each has it rebuilt. kFailedPrecondition: the keyspace belongs to another database or
  /// another system; otherwise the error of the store that could not be asked.
  absl::Status verify(Client& client);

  /// As verify(), but fences the database only if the keyspace lost writes: for a keyspace that is
  /// in use already.
  absl::Status check(Client& client);

  /// Returns true if the keyspace has this voucher on sale, or had it when it lost writes. Asks the
  /// keyspace alone, unless it has lost everything. Errors: as verify().
  absl::StatusOr<bool> is_on_sale(Client& client, VoucherId voucher);

  /// Draws the next checkpoint. kNotFound: the keyspace lost all of its writes.
  /// kFailedPrecondition: it belongs to another database.
  absl::StatusOr<std::int64_t> draw_checkpoint(Client& client);

  /// The database's; read once.
  absl::StatusOr<std::string> identity();

 private:
  absl::StatusOr<bool> claim(Client& client, const DatabaseState& state);
  absl::Status recover(Client& client, const DatabaseState& state);

  OrderStore& orders_;
  const SaleKeys keys_;
  const Options options_;
  std::mutex mutex_;
  std::string identity_;  // guarded by mutex_; empty: not read yet
};

/// The error of a script that met another database's keyspace.
absl::Status anothers_keyspace(const SaleKeys& keys);

}  // namespace rushgate
