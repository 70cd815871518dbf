#include "engine/sale/keyspace/lost_requests.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/stream/unstored_orders.h"

namespace rushgate {
namespace {

constexpr std::string_view kDoing = "restoring idempotency keys";

absl::Status lost_again() {
  return absl::AbortedError("the keyspace lost its idempotency keys while they were restored");
}

/// Returns the name of the loss; empty if nothing is lost.
absl::StatusOr<std::optional<std::string>> find_loss(Client& client, const SaleKeys& keys) {
  const Reply loss = client("HGET", keys.lost_requests(), "loss");
  if (loss.is_nil()) return std::nullopt;
  if (!loss.is_text()) return to_status(loss, kDoing);
  return std::string(loss.text());
}

/// Restores the keys of one loss.
class RequestRestorer {
 public:
  RequestRestorer(Client& client, const SaleStores& stores, const SaleKeys& keys, std::string loss)
      : client_(client), stores_(stores), keys_(keys), loss_(std::move(loss)) {}

  /// Whoever noted the loss had fenced the database. So no order reaches it that is in neither of
  /// the stores now.
  absl::Status run() {
    ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
    // The streams first: an order that moves to the database meanwhile is found there.
    ASSIGN_OR_RETURN(const auto unstored, read_unstored_orders_with_keys(client_, keys_, now_ms));
    const auto add_all = [this](std::span<const Order> orders) { return add(orders); };
    // Restored first, since they are older: the first order of a key keeps it.
    RETURN_IF_ERROR(stores_.orders.visit_keys(now_ms, add_all));
    for (const auto* orders : {&unstored.queued, &unstored.dead}) {
      RETURN_IF_ERROR(add(*orders));
    }
    return finish();
  }

 private:
  absl::Status add(std::span<const Order> orders) {
    constexpr std::size_t kRequestsPerCall = 1'000;
    for (std::span<const Order> left = orders; !left.empty();) {
      const auto portion = left.first(std::min(left.size(), kRequestsPerCall));
      RETURN_IF_ERROR(add_portion(portion));
      left = left.subspan(portion.size());
    }
    return absl::OkStatus();
  }

  absl::Status add_portion(std::span<const Order> orders) {
    std::vector<std::string> names = {keys_.lost_requests()};
    std::vector<std::string> arguments = {loss_, name_};
    for (const Order& order : orders) {
      names.push_back(keys_.request(order.idempotency_key));
      arguments.push_back(request_record(order));
      arguments.push_back(std::to_string(order.key_expires_at_ms));
    }
    ++portions_;
    return run(voucher_scripts::restore_requests(), names, arguments);
  }

  absl::Status finish() {
    return run(voucher_scripts::finish_requests(), {keys_.lost_requests()},
               {loss_, name_, std::to_string(portions_)});
  }

  absl::Status run(const Script& script, const std::vector<std::string>& names,
                   const std::vector<std::string>& arguments) {
    const std::vector<std::string_view> keys(names.begin(), names.end());
    const std::vector<std::string_view> values(arguments.begin(), arguments.end());
    const Reply reply = client_.run(script, keys, values);
    if (reply == Reply::array({Reply::integer(voucher_scripts::kDone)})) return absl::OkStatus();
    const bool is_lost = reply == Reply::array({Reply::integer(voucher_scripts::kLostTheRebuild)});
    return is_lost ? lost_again() : to_status(reply, kDoing);
  }

  Client& client_;
  const SaleStores stores_;
  const SaleKeys& keys_;
  const std::string loss_;
  const std::string name_ = random_name();
  std::size_t portions_ = 0;
};

}  // namespace

absl::StatusOr<bool> are_requests_lost(Client& client, const SaleKeys& keys) {
  ASSIGN_OR_RETURN(const auto loss, find_loss(client, keys));
  return loss.has_value();
}

absl::Status restore_lost_requests(Client& client, const SaleStores& stores, const SaleKeys& keys) {
  constexpr int kTries = 3;  // each fails only if somebody was faster, or after another loss
  absl::Status restored;
  for (int i = 0; i < kTries; ++i) {
    const auto loss = find_loss(client, keys);
    if (!loss.ok() || !loss->has_value()) return loss.status();
    restored = RequestRestorer(client, stores, keys, **loss).run();
    if (!absl::IsAborted(restored)) break;
  }
  return restored;
}

}  // namespace rushgate
