#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include <rushgate/order_store.h>

namespace rushgate {
namespace {

absl::Status no_vouchers() {
  return absl::FailedPreconditionError(
      "the order store keeps no vouchers: open the sale with a VoucherStore as well");
}

/// The vouchers of an order store without vouchers.
class NoVouchers final : public VoucherStore {
 public:
  absl::Status record_pending(const VoucherVersion& /*version*/) override { return no_vouchers(); }
  absl::Status resolve(VoucherId /*voucher*/, std::int64_t /*version*/,
                       VoucherVersion::State /*state*/, const std::string& /*reason*/) override {
    return no_vouchers();
  }
  absl::StatusOr<std::vector<VoucherVersion>> versions(VoucherId /*voucher*/) override {
    return no_vouchers();
  }
  absl::StatusOr<std::vector<VoucherVersion>> all_versions() override { return no_vouchers(); }
};

VoucherStore& vouchers_of(OrderStore& orders) {
  static NoVouchers none;
  VoucherStore* const vouchers = orders.vouchers();
  return vouchers == nullptr ? none : *vouchers;
}

}  // namespace

SaleStores::SaleStores(OrderStore& both) : SaleStores(both, vouchers_of(both)) {}

absl::StatusOr<std::vector<OrderResult>> SaleStores::write(std::span<const Order> batch,
                                                           BatchFence fence) const {
  if (orders.vouchers() == &vouchers) return orders.write(batch, fence);
  auto& stock = fence.stock.emplace();
  absl::flat_hash_set<VoucherId> read;
  for (const Order& order : batch) {
    if (!read.insert(order.voucher).second) continue;
    const auto versions = vouchers.versions(order.voucher);
    // No code of this error means that an order is at fault.
    if (!versions.ok()) {
      return absl::UnavailableError(
          absl::StrCat("reading voucher ", order.voucher, ": ", versions.status().ToString()));
    }
    if (const auto bound = stock_of(*versions)) stock.emplace(order.voucher, *bound);
  }
  return orders.write(batch, fence);
}

}  // namespace rushgate
