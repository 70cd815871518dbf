#include <rushgate/payment_store.h>

namespace rushgate {

absl::Status for_each_payment(PaymentStore& store, PaymentFilter filter,
                              absl::FunctionRef<void(const Payment&)> visit) {
  while (true) {
    const auto portion = store.list_payments(filter);
    if (!portion.ok()) return portion.status();
    for (const Payment& payment : *portion) visit(payment);
    if (portion->empty() || portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
  }
}

}  // namespace rushgate
