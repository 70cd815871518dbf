// The cancellations in the order stream and among the dead letters, found without reading both for each
// refused order.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Remembers where the cancellations of a stream are, 32 bytes each, and reads each entry once. Not
/// thread-safe. Does not own the client.
class QueuedCancellations {
 public:
  QueuedCancellations(Client& client, std::string stream)
      : client_(client), stream_(std::move(stream)) {}

  /// Reads the entries that were added since the last call. Returns the last entry of the stream that
  /// was read.
  absl::StatusOr<StreamId> read_on();

  /// Visits the cancellations of `orders`, and of all orders of `vouchers`, that the stream still has,
  /// in its order.
  absl::Status for_each_of(const absl::flat_hash_set<OrderId>& orders,
                           const absl::flat_hash_set<VoucherId>& vouchers,
                           absl::FunctionRef<void(OrderEvent event)> visit);

  /// Forgets all: the keyspace may have lost entries.
  void clear();

 private:
  struct Cancellation {
    StreamId entry;
    OrderId order = 0;
    VoucherId voucher = 0;
  };

  absl::Status find_ends();
  absl::Status fetch(std::span<const StreamId> entries,
                     absl::FunctionRef<void(OrderEvent event)> visit);

  Client& client_;
  const std::string stream_;
  StreamId read_to_;
  std::deque<Cancellation> known_;  // up to read_to_, ascending
};

}  // namespace rushgate
