#include <string>

#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

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

/// Reads the stock of a voucher into the fence, once.
absl::Status add_stock(VoucherStore& vouchers, VoucherId voucher,
                       absl::flat_hash_set<VoucherId>& read, BatchFence& fence) {
  if (!read.insert(voucher).second) return absl::OkStatus();
  const auto versions = vouchers.versions(voucher);
  // No code of this error means that an order is at fault.
  if (!versions.ok()) {
    return absl::UnavailableError(
        concat("reading voucher ", voucher, ": ", versions.status().ToString()));
  }
  if (const auto bound = stock_of(*versions)) fence.stock->emplace(voucher, *bound);
  return absl::OkStatus();
}

/// Returns the results of a store, which the worker acknowledges entry by entry, or the error of a
/// store with another number of them.
absl::StatusOr<std::vector<OrderResult>> check_count(
    absl::StatusOr<std::vector<OrderResult>> results, std::size_t written) {
  if (!results.ok() || results->size() == written) return results;
  return absl::InternalError(
      concat("the order store returned ", results->size(), " results for ", written, " writes"));
}

}  // namespace

SaleStores::SaleStores(OrderStore& both) : SaleStores(both, vouchers_of(both)) {}

absl::StatusOr<std::vector<OrderResult>> SaleStores::write(std::span<const Order> batch,
                                                           BatchFence fence) const {
  if (orders.vouchers() == &vouchers) return check_count(orders.write(batch, fence), batch.size());
  fence.stock.emplace();
  absl::flat_hash_set<VoucherId> read;
  for (const Order& order : batch) {
    RETURN_IF_ERROR(add_stock(vouchers, order.voucher, read, fence));
  }
  return check_count(orders.write(batch, fence), batch.size());
}

absl::StatusOr<std::vector<OrderResult>> SaleStores::apply(std::span<const OrderEvent> events,
                                                           BatchFence fence) const {
  PaymentStore& payments = *orders.payments();
  if (orders.vouchers() == &vouchers) {
    return check_count(payments.apply(events, fence), events.size());
  }
  fence.stock.emplace();
  absl::flat_hash_set<VoucherId> read;
  for (const OrderEvent& event : events) {
    if (event.kind != OrderEvent::Kind::kAdmitted) continue;
    RETURN_IF_ERROR(add_stock(vouchers, event.order.voucher, read, fence));
  }
  return check_count(payments.apply(events, fence), events.size());
}

absl::Status for_each_payment(PaymentStore& store, PaymentFilter filter,
                              absl::FunctionRef<void(const Payment&)> visit) {
  while (true) {
    ASSIGN_OR_RETURN(const auto portion, store.list_payments(filter));
    for (const Payment& payment : portion) visit(payment);
    if (portion.empty() || portion.size() < filter.count_max) return absl::OkStatus();
    filter.after = portion.back().id;
  }
}

}  // namespace rushgate
