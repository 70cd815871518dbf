// The second act of the demo: payments, timeouts and cancellations, and the resale of pieces that
// come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/flash_sale.h>

namespace rushgate {

/// Orders of the second act.
struct SecondActReport {
  std::size_t sold = 0;
  std::size_t paid = 0;       // in time
  std::size_t cancelled = 0;  // by their users
  std::size_t timed_out = 0;
  std::size_t paid_late = 0;  // after their timeout: due back
  std::size_t resold = 0;     // pieces that came back; paid by others
  AuditReport audit = {};     // of the whole sale
};

/// Returns the report as it is kept, and as `demo --json` prints it.
nlohmann::ordered_json to_json(const SecondActReport& report);
SecondActReport second_act_from_json(const nlohmann::ordered_json& json);
std::string format_second_act(const SecondActReport& report);

/// Sells a voucher that must be paid within a second. Of its users, 80 % pay, 10 % cancel, 5 % pay
/// too late, and the rest never pays. The pieces that come back are sold to others, and paid.
///
/// The counts are the same on every machine: orders time out only when a worker looks for them, and
/// no worker runs before the last payment in time. Each request has its own idempotency key, so a
/// killed act continues when it is run again.
class SecondAct {
 public:
  /// The sale has no running workers, and must outlive this.
  explicit SecondAct(FlashSale& sale) : sale_(sale) {}

  /// Runs the act, or loads the report of a complete one. kCancelled: a signal interrupted it.
  absl::StatusOr<SecondActReport> run();

 private:
  using Orders = std::vector<OrderId>;

  absl::StatusOr<std::optional<SecondActReport>> load();
  absl::Status set(const char* key, const std::string& value);
  absl::StatusOr<SecondActReport> play();
  absl::Status play_sale(std::span<const OrderId> orders);
  absl::StatusOr<SecondActReport> make_report(std::span<const OrderId> orders, std::size_t resold);
  absl::StatusOr<Orders> buy(std::size_t first, std::size_t count);
  absl::Status pay(std::span<const OrderId> orders, ChangeOutcome expected);
  absl::Status cancel(std::span<const OrderId> orders);
  absl::Status wait_for_timeouts();
  absl::StatusOr<std::size_t> count_cancelled(std::span<const OrderId> orders);

  FlashSale& sale_;
};

}  // namespace rushgate
