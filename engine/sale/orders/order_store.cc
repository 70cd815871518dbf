#include "engine/sale/orders/order_store.h"

#include "absl/strings/str_cat.h"

namespace rushgate {

std::string_view order_status_name(OrderStatus status) {
  switch (status) {
    case OrderStatus::kCreated:
      return "created";
  }
  return "?";
}

std::string_view order_result_name(OrderResult::Kind kind) {
  switch (kind) {
    case OrderResult::Kind::kStored:
      return "stored";
    case OrderResult::Kind::kAlreadyStored:
      return "already stored";
    case OrderResult::Kind::kRefused:
      return "refused";
  }
  return "?";
}

absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions) {
  while (true) {
    const auto portion = store.list(filter);
    if (!portion.ok()) return portion.status();
    for (const Order& order : *portion) visit(order);
    if (portion->empty() || portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
    if (const absl::Status done = between_portions(); !done.ok()) return done;
  }
}

absl::Status stale_batch(const BatchFence& fence, std::int64_t epoch) {
  return absl::AbortedError(
      absl::StrCat("the batch was read in epoch ", fence.epoch, ", the database is in ", epoch));
}

std::optional<std::string> voucher_excess(VoucherId voucher, std::int64_t live,
                                          std::optional<std::int64_t> stock) {
  if (!stock) return absl::StrCat("voucher ", voucher, " was never published here");
  if (live < *stock) return std::nullopt;
  return absl::StrCat("voucher ", voucher, " has ", live, " live orders of a stock of ", *stock);
}

}  // namespace rushgate
