#include "engine/sale/holds/received_payments.h"

#include <cstddef>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/hash_scan.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/scripts/payment_scripts.h"

namespace rushgate {

ReceivedPayment ReceivedPayment::read(std::string_view id, std::string_view value) {
  ReceivedPayment payment{.id = std::string(id), .value = std::string(value)};
  const std::size_t order_end = value.find(' ');
  const std::size_t amount_end =
      order_end == value.npos ? value.npos : value.find(' ', order_end + 1);
  if (amount_end == value.npos) return payment;
  const auto order = parse_int64(value.substr(0, order_end));
  const auto amount = parse_int64(value.substr(order_end + 1, amount_end - order_end - 1));
  const std::string_view kind = value.substr(amount_end + 1);
  const bool is_surplus = kind == order_event_name(OrderEvent::Kind::kSurplusPayment);
  const bool is_known = is_surplus || kind == order_event_name(OrderEvent::Kind::kPaid);
  if (!order || *order <= 0 || !amount || *amount <= 0 || !is_known) return payment;
  payment.order = *order;
  payment.amount_cents = *amount;
  if (is_surplus) payment.kind = OrderEvent::Kind::kSurplusPayment;
  return payment;
}

absl::StatusOr<std::optional<ReceivedPayment>> find_received_payment(Client& client,
                                                                     const SaleKeys& keys,
                                                                     std::string_view id) {
  const Reply value = client("HGET", keys.payments(), id);
  if (value.is_nil()) return std::nullopt;
  if (!value.is_text()) return to_status(value, concat("looking for payment ", id));
  return ReceivedPayment::read(id, value.text());
}

absl::StatusOr<absl::flat_hash_set<std::string>> find_noted_as_stored(
    Client& client, const SaleKeys& keys, const absl::flat_hash_set<std::string>& payments) {
  constexpr std::size_t kBatchesPerRead = 16;  // each of up to 1,000 payments
  absl::flat_hash_set<std::string> noted;
  std::string after = "-";
  while (noted.size() < payments.size()) {
    const Reply page =
        client("XRANGE", keys.stored_payments(), after, "+", "COUNT", kBatchesPerRead);
    if (!page.is_aggregate()) return to_status(page, "reading the stored payments");
    for (const Reply& element : page.elements()) {
      const auto batch = read_entry(element);
      if (!batch) return to_status(element, "reading a batch of stored payments");
      const std::string_view ids = batch->field("ids").value_or("");
      for (const absl::string_view id :
           absl::StrSplit(absl::string_view(ids.data(), ids.size()), ' ')) {
        if (payments.contains(id)) noted.emplace(id);
      }
      after = concat("(", batch->id);
    }
    if (page.elements().size() < kBatchesPerRead) break;
  }
  return noted;
}

absl::StatusOr<bool> note_stored_payments(Client& client, const SaleKeys& keys,
                                          std::string_view payments) {
  constexpr std::int64_t kBatches = 4;
  const std::string known = keys.payments();
  const std::string stored = keys.stored_payments();
  const std::string_view names[] = {known, stored};
  const DecimalText keep(payment_scripts::kKeepStoredMs);
  const DecimalText most(kBatches);
  const std::string_view arguments[] = {payments, keep, most};
  const Reply forgotten = client.run(payment_scripts::note_stored(), names, arguments);
  if (!forgotten.is_integer()) return to_status(forgotten, "forgetting stored payments");
  return forgotten.integer() < kBatches;
}

absl::Status for_each_received_payment(Client& client, const SaleKeys& keys,
                                       absl::FunctionRef<void(const ReceivedPayment&)> visit) {
  constexpr int kPaymentsPerScan = 1'000;
  return for_each_field(client, keys.payments(), kPaymentsPerScan,
                        "reading the payments in the keyspace",
                        [&](std::string_view id, std::string_view value) {
                          visit(ReceivedPayment::read(id, value));
                        });
}

}  // namespace rushgate
