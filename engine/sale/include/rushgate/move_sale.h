// Moves a running sale to another keyspace, such as a larger Redis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace spdlog {
class logger;
}

namespace rushgate {

struct MoveOptions {
  /// The same in both keyspaces, but for the hash tags on a Redis Cluster (SaleOptions::keys).
  SaleKeys keys = {};
  /// Names the keyspace to which the sale goes: whoever wants to sell on the other one is told so.
  std::string to_name = {};
  /// How long the move waits for a store that is away, or for orders that cannot be stored yet.
  std::int64_t patience_ms = 13'000;
  /// Called before each step, with what it does ("storing the queued orders"). May be empty.
  std::function<void(std::string_view step)> on_step = {};
  std::shared_ptr<spdlog::logger> logger = {};  // may be null
};

struct MoveReport {
  bool was_done = false;      // an earlier call had finished the move
  std::size_t stored = 0;     // queued orders and changes that this call stored
  std::size_t letters = 0;    // dead and discarded letters copied
  std::size_t waiting = 0;    // waiting users copied
  std::int64_t pause_ms = 0;  // from the closing of the admission to the opening, of this call
};

/// Moves the sale of these stores from one keyspace to another: closes the admission, stores what is
/// queued, copies what only the keyspace has (dead letters, waiting lists), rebuilds every voucher from
/// the order database, and opens the sale. Nothing is sold between the first step and the last one.
///
/// If the call fails or its process ends, call it again with the same arguments, on any host: each step
/// may be repeated, and none is lost. Until then no keyspace sells. The keyspace that was left stays
/// closed, and says where the sale is. So processes that still use it sell nothing, and their workers
/// pause. It may be moved back to.
///
/// A sale with lanes is moved as a whole, and keeps its lanes.
///
/// Purchase tokens stay behind, and so do entries that are retained for a database that loses orders
/// (WorkerOptions::retain_ms). Errors, besides those of the stores:
/// - kFailedPrecondition: one of the keyspaces belongs to another database, has this sale already, or is
///   part of another move. The message says which.
/// - kUnavailable: a store was away, or an order could not be stored, for longer than the patience.
absl::StatusOr<MoveReport> move_sale(Backend& from, Backend& to, const SaleStores& stores,
                                     const MoveOptions& options);

}  // namespace rushgate
