#include "adapters/flash_sale/purchase_desk.h"

#include <memory>
#include <utility>

#include "adapters/flash_sale/decide_safely.h"

namespace rushgate {
namespace {

const BuyResult kUnknownPurchase{.outcome = Outcome::kOutcomeUnknown};

/// Purchases on their way to complete results.
struct PartialPurchases {
  std::vector<BuyRequest> requests;
  std::vector<BuyResult> results;
  PurchaseDesk::Completion completion;
};

}  // namespace

std::vector<BuyResult> PurchaseDesk::decide(std::span<const BuyRequest> requests) {
  return decide_safely(requests, kUnknownPurchase,
                       [this](std::span<const BuyRequest> all) { return sale_.decide_all(all); });
}

void PurchaseDesk::complete(std::vector<BuyRequest> requests, std::vector<BuyResult> results,
                            Completion completion) {
  const auto all = std::make_shared<PartialPurchases>(
      PartialPurchases{std::move(requests), std::move(results), std::move(completion)});
  const bool is_taken = threads_.submit([this, all] {
    for (std::size_t i = 0; i < all->results.size(); ++i) {
      complete_now(all->requests[i], all->results[i]);
    }
    all->completion(std::move(all->results));
  });
  if (is_taken) return;
  for (BuyResult& result : all->results) {
    if (!result.is_partial) continue;
    result = {.outcome = Outcome::kOverloaded, .detail = "too many repeated purchases wait"};
  }
  all->completion(std::move(all->results));
}

void PurchaseDesk::complete_now(const BuyRequest& request, BuyResult& result) {
  if (!result.is_partial) return;
  result = decide_safely(std::span(&request, 1), kUnknownPurchase, [&](auto) {
             sale_.complete(request, result);
             return std::vector<BuyResult>{std::move(result)};
           }).front();
}

}  // namespace rushgate
