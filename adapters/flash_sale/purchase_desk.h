// Purchases that do not wait for the order database.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "adapters/flash_sale/work_pool.h"
#include <rushgate/sale.h>

namespace rushgate {

/// Decides on purchases without the order database. What only the database knows about some of them is
/// read on threads of its own. Thread-safe. Does not own the sale, which must outlive it.
class PurchaseDesk {
 public:
  using Completion = absl::AnyInvocable<void(std::vector<BuyResult> results)>;

  /// `waiting_max`: the most calls of complete() that wait for a thread.
  PurchaseDesk(Sale& sale, int threads, std::size_t waiting_max)
      : sale_(sale), threads_(threads, waiting_max) {}

  /// Decides in this order, as Sale::decide_all(): some results may be partial. An exception of the
  /// order store makes all of them kOutcomeUnknown.
  std::vector<BuyResult> decide(std::span<const BuyRequest> requests);

  /// Calls `completion` with the results, the partial ones among them completed, on another thread. If
  /// too many calls wait, the partial ones are kOverloaded, and the completion runs before this
  /// returns.
  void complete(std::vector<BuyRequest> requests, std::vector<BuyResult> results,
                Completion completion);

 private:
  void complete_now(const BuyRequest& request, BuyResult& result);

  Sale& sale_;
  WorkPool threads_;
};

}  // namespace rushgate
