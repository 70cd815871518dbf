// The calls of a sale at a running service, as the commands need them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "apps/service/service_client.h"
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/voucher.h>

namespace rushgate {

// Each call may be repeated: the service then does nothing again.

absl::StatusOr<std::vector<VoucherSummary>> vouchers_at(const ServiceClient& service);
/// Returns nothing if the voucher is not on sale.
absl::StatusOr<std::optional<VoucherSummary>> voucher_at(const ServiceClient& service,
                                                         VoucherId voucher);
/// Publishes a voucher. Errors: as those of Sale::publish(). kAlreadyExists: with `only_new`, it was
/// published before.
absl::Status publish_at(const ServiceClient& service, const Voucher& voucher, bool only_new);

/// Buys. The request must have an idempotency key if the call is repeated.
BuyResult buy_at(const ServiceClient& service, const BuyRequest& request);
/// Changes an order by a route below it: `payments`, `cancel`, `use` or `refund`.
ChangeResult change_at(const ServiceClient& service, OrderId order, const std::string& route,
                       const nlohmann::ordered_json& body);

/// Returns an order with the fields of `status --json`; nothing if it is unknown.
absl::StatusOr<std::optional<nlohmann::ordered_json>> order_at(const ServiceClient& service,
                                                               OrderId order);
/// Returns the stored orders of a user.
absl::StatusOr<std::vector<nlohmann::ordered_json>> orders_at(const ServiceClient& service,
                                                              const UserId& user);
/// Audits the sale, and waits for the report.
absl::StatusOr<AuditReport> audit_at(const ServiceClient& service, bool repairs);

// ---- The inverse of to_json() ----

Order order_from_json(const nlohmann::ordered_json& json);
Payment payment_from_json(const nlohmann::ordered_json& json);
OrderChange change_from_json(const nlohmann::ordered_json& json);

}  // namespace rushgate
