// Requests shared by callers that buy the same voucher at the same time. For a keyspace behind a
// network.
#pragma once

#include <cstddef>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "engine/sale/scripts/admission.h"
#include <rushgate/client.h>
#include <rushgate/reply.h>

namespace rushgate {

/// A request that has not been sent yet takes along later callers that want the same voucher. So no
/// caller waits for others. A server decides on a group in about half the time of as many single
/// requests.
///
/// Thread-safe.
class AdmissionGroups {
 public:
  using Buyer = AdmissionRequests::Buyer;

  /// The most buyers of one request. More would hardly save the server anything, and would delay
  /// other clients.
  static constexpr std::size_t kBuyersMax = 64;
  static_assert(kBuyersMax <= AdmissionRequests::kBuyersMax);

  /// `wait` suspends the callers; null: their threads sleep. Owns none of its arguments.
  AdmissionGroups(Client& client, const AdmissionRequests& requests, const WaitMethod* wait);

  /// Returns the script's reply for `buyer`, which has no idempotency key. NOSCRIPT is a reply,
  /// too.
  Reply admit(VoucherId voucher, const Buyer& buyer);

 private:
  class Group;

  const AdmissionRequests& requests_;
  Client& client_;
  const WaitMethod& wait_;
  std::mutex mutex_;
  absl::flat_hash_map<VoucherId, Group*> open_;  // guarded by mutex_; not sent yet, not full
};

}  // namespace rushgate
