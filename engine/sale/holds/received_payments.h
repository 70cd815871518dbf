// The payments that the keyspace knows (SaleKeys::payments()): the payments not stored yet, and the
// ones stored in the last minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// A payment that was acknowledged.
struct ReceivedPayment {
  std::string id;
  std::string value;  // as in the keyspace
  OrderId order = 0;  // 0: the value is malformed
  std::int64_t amount_cents = 0;
  OrderEvent::Kind kind = OrderEvent::Kind::kPaid;  // or kSurplusPayment

  /// Reads a value of SaleKeys::payments().
  static ReceivedPayment read(std::string_view id, std::string_view value);
};

/// Finds a payment; empty if it is not there.
absl::StatusOr<std::optional<ReceivedPayment>> find_received_payment(Client& client,
                                                                     const SaleKeys& keys,
                                                                     std::string_view id);

/// Returns those of the payments (ids) that the keyspace notes as stored, in one pass. It notes a
/// payment before it forgets it, and forgets both at once.
absl::StatusOr<absl::flat_hash_set<std::string>> find_noted_as_stored(
    Client& client, const SaleKeys& keys, const absl::flat_hash_set<std::string>& payments);

/// Notes payments as stored, whose ids are separated by spaces. Forgets old ones, a bounded number.
/// Returns false if there may be more of these.
absl::StatusOr<bool> note_stored_payments(Client& client, const SaleKeys& keys,
                                          std::string_view payments);

/// Visits each payment, in no order and in bounded portions; one that is there during the whole call
/// at least once.
absl::Status for_each_received_payment(Client& client, const SaleKeys& keys,
                                       absl::FunctionRef<void(const ReceivedPayment&)> visit);

}  // namespace rushgate
