#include "engine/sale/audit/key_audit.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/lost_requests.h"
#include "engine/sale/scripts/admission.h"

namespace rushgate {
namespace {

constexpr std::size_t kKeysPerCall = 1'000;

/// Returns the fault of an order with this record under its key; empty if there is none.
std::string find_key_fault(const Order& order, const Reply& record) {
  if (!record.is_text()) return "has lost its idempotency key";
  if (record.text() == request_record(order)) return {};
  return concat("is not the order of its idempotency key, which has \"", record.text(), "\"");
}

/// Returns the order of the record if it is of another voucher than `order`; else 0.
OrderId order_of_other_voucher(const Order& order, const Reply& record) {
  if (!record.is_text()) return 0;
  const auto voucher = voucher_of_record(record.text());
  if (!voucher || *voucher == order.voucher) return 0;
  return parse_int64(record.text().substr(record.text().rfind(' ') + 1)).value_or(0);
}

/// An order with a wrong key, which may have expired.
struct SuspectKey {
  const Order* order = nullptr;
  WrongKey key = {};
};

absl::Status add_suspects(Client& client, const SaleKeys& keys,
                          std::span<const Order* const> orders, std::vector<SuspectKey>& suspects) {
  Request request = Request::of("MGET");
  for (const Order* const order : orders) request.add(keys.request(order->idempotency_key));
  const Reply records = client.call(request);
  if (!records.is_aggregate() || records.elements().size() != orders.size()) {
    return to_status(records, "reading idempotency keys");
  }
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const Order& order = *orders[i];
    const Reply& record = records.elements()[i];
    std::string fault = find_key_fault(order, record);
    if (fault.empty()) continue;
    suspects.push_back({&order,
                        {.order = order.id,
                         .voucher = order.voucher,
                         .fault = std::move(fault),
                         .of_other_voucher = order_of_other_voucher(order, record)}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WrongKey>> find_wrong_keys(Client& client, const SaleKeys& keys,
                                                      std::span<const Order> orders) {
  std::vector<const Order*> with_key;
  for (const Order& order : orders) {
    if (!order.idempotency_key.empty()) with_key.push_back(&order);
  }
  std::vector<SuspectKey> suspects;
  for (std::span<const Order* const> left = with_key; !left.empty();) {
    const auto portion = left.first(std::min(left.size(), kKeysPerCall));
    RETURN_IF_ERROR(add_suspects(client, keys, portion, suspects));
    left = left.subspan(portion.size());
  }
  std::vector<WrongKey> wrong;
  if (suspects.empty()) return wrong;
  // The time last: a key that has not expired now had not expired when it was read.
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client));
  for (auto& [order, key] : suspects) {
    if (order->key_expires_at_ms >= now_ms) wrong.push_back(std::move(key));
  }
  return wrong;
}

absl::Status for_each_wrong_key_of_archived(
    Client& client, OrderStore& orders, const SaleKeys& keys,
    std::span<const ArchivedVoucher> archived,
    absl::FunctionRef<absl::Status(const Order&, const WrongKey&)> visit) {
  if (archived.empty()) return absl::OkStatus();
  const auto are_lost = are_requests_lost(client, keys);
  if (!are_lost.ok() || *are_lost) return are_lost.status();
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client));
  return orders.visit_keys(now_ms, [&](std::span<const Order> portion) -> absl::Status {
    std::vector<Order> of_archived;
    for (const Order& order : portion) {
      if (is_archived(archived, order.voucher)) of_archived.push_back(order);
    }
    ASSIGN_OR_RETURN(const auto wrong, find_wrong_keys(client, keys, of_archived));
    for (const WrongKey& key : wrong) {
      const auto order = std::ranges::find(of_archived, key.order, &Order::id);
      RETURN_IF_ERROR(visit(*order, key));
    }
    return absl::OkStatus();
  });
}

}  // namespace rushgate
