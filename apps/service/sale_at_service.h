// The calls of a sale at a running service, as the commands need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "adapters/flash_sale/stored_records.h"
#include "apps/sale_at.h"
#include "apps/service/service_client.h"
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/sale.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns a client of the service that `--server` and `--tls-ca` name.
absl::StatusOr<ServiceClient> service_of(const SaleArguments& arguments);

// Each call may be repeated: the service then does nothing again.

absl::StatusOr<std::vector<VoucherSummary>> vouchers_at(const ServiceClient& service);
/// Returns nothing if the voucher is not on sale.
absl::StatusOr<std::optional<VoucherSummary>> voucher_at(const ServiceClient& service,
                                                         VoucherId voucher);
/// Publishes a voucher. Errors: as those of Sale::publish(). kAlreadyExists: with `only_new`, it was
/// published before.
absl::Status publish_at(const ServiceClient& service, const Voucher& voucher, bool only_new);
/// Returns why a voucher is not on sale: "voucher 7 was archived". Empty if it is on sale.
absl::StatusOr<std::string> why_not_on_sale_at(const ServiceClient& service, VoucherId voucher);
/// Closes a voucher, and returns the version in force. Errors: as those of Sale::close().
absl::StatusOr<VoucherVersion> close_at(const ServiceClient& service, VoucherId voucher);
/// Archives a voucher, and deletes its orders with `deletes`. Returns how many were deleted. Errors: as
/// those of Sale::archive().
absl::StatusOr<std::optional<std::size_t>> archive_at(const ServiceClient& service,
                                                      VoucherId voucher,
                                                      const std::string& discard_reason,
                                                      bool deletes);
/// Calls Sale::refund_all(). kUnavailable: orders of the voucher are queued.
absl::StatusOr<std::size_t> refund_all_at(const ServiceClient& service, VoucherId voucher,
                                          const std::string& reason, const std::string& actor);

/// Buys. The request must have an idempotency key if the call is repeated.
BuyResult buy_at(const ServiceClient& service, const BuyRequest& request);
/// A visit of the entrance to a voucher that needs a purchase token.
struct EntranceVisit {
  std::string token;          // empty: the user waits
  std::int64_t position = 0;  // of a user that waits, from 1
  std::int64_t wait_ms = 0;   // as estimated
};
absl::StatusOr<EntranceVisit> visit_entrance_at(const ServiceClient& service, VoucherId voucher,
                                                const UserId& user);
/// Changes an order by a route below it: `payments`, `cancel`, `use` or `refund`.
ChangeResult change_at(const ServiceClient& service, OrderId order, const std::string& route,
                       const nlohmann::ordered_json& body);

ChangeResult confirm_refund_at(const ServiceClient& service, const std::string& payment);

/// Returns an order with the fields of `status --json`; nothing if it is unknown.
absl::StatusOr<std::optional<nlohmann::ordered_json>> order_at(const ServiceClient& service,
                                                               OrderId order);
/// Returns the target of the list of a user's stored orders.
std::string user_orders_target(const UserId& user);
/// Returns the target with a further parameter in its query.
std::string with_query(std::string target, std::string_view name, std::string_view value);
/// Visits every item of a list, such as `orders` of "/v1/orders?state=paid", as the service sends it.
/// Repeats the request of a page with `patience`.
absl::Status for_each_at(const ServiceClient& service, const Patience& patience, std::string target,
                         const char* name,
                         absl::FunctionRef<void(const nlohmann::ordered_json& item)> visit);
absl::StatusOr<SaleCounts> counts_at(const ServiceClient& service,
                                     std::optional<VoucherId> voucher);

absl::StatusOr<std::vector<DeadLetter>> dead_letters_at(const ServiceClient& service);
absl::StatusOr<std::vector<DiscardedLetter>> discarded_letters_at(const ServiceClient& service);
/// As those of Sale:
absl::StatusOr<bool> retry_dead_letter_at(const ServiceClient& service, const std::string& id);
absl::StatusOr<bool> discard_dead_letter_at(const ServiceClient& service, const std::string& id,
                                            const std::string& why);

/// Lets the service make a backup, and waits until it is complete. Waits first for one that is being
/// made, which may lack what happened since it began. kFailedPrecondition: it makes none, or
/// with a `directory`, makes them elsewhere.
absl::StatusOr<BackupReport> back_up_at(const ServiceClient& service,
                                        const std::filesystem::path& directory,
                                        const BackupOptions& options);

/// Audits the sale, and waits for the report.
absl::StatusOr<AuditReport> audit_at(const ServiceClient& service, bool repairs,
                                     const OnAuditProgress& on_progress);

// ---- The inverse of to_json() ----

Order order_from_json(const nlohmann::ordered_json& json);
Payment payment_from_json(const nlohmann::ordered_json& json);
OrderChange change_from_json(const nlohmann::ordered_json& json);

}  // namespace rushgate
