#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/limits/counted_give_back.lua.h"
#include "engine/recipes/limits/counted_take.lua.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr std::string_view kCounting = "counting limits";

const Script& counted_take_script() {
  static const Script* const kScript = new Script(lua::kCountedTake);
  return *kScript;
}

const Script& give_back_script() {
  static const Script* const kScript = new Script(lua::kCountedGiveBack);
  return *kScript;
}

absl::Status check(std::span<const CountedLimit> limits, std::int64_t amount) {
  if (limits.empty()) return absl::InvalidArgumentError("counted limits: the list is empty");
  if (amount < 1 || amount > CountedLimits::kCountMax) {
    return absl::InvalidArgumentError(
        concat("counted limits: the amount is ", amount, ", and must be at least 1"));
  }
  std::set<std::pair<std::string_view, std::string_view>> named;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const CountedLimit& limit = limits[i];
    const auto wrong = [&](std::string_view what) {
      return absl::InvalidArgumentError(
          concat("counted limits: limit ", i, " (", limit.key, " ", limit.field, ") ", what));
    };
    if (limit.code == 0) return wrong("has the code 0, which means granted");
    if (limit.maximum < 0 || limit.maximum > CountedLimits::kCountMax) {
      return wrong(concat("has the maximum ", limit.maximum));
    }
    if (limit.lifetime_ms < 0) return wrong(concat("has the lifetime ", limit.lifetime_ms));
    if (!named.emplace(limit.key, limit.field).second) return wrong("is named twice");
  }
  return absl::OkStatus();
}

}  // namespace

CountedLimits::CountedLimits(Backend& backend, const ClientOptions& client)
    : client_(backend.open_client(client)) {}

absl::StatusOr<std::int64_t> CountedLimits::take(std::span<const CountedLimit> limits,
                                                 std::int64_t amount) {
  const auto exceeded = run(counted_take_script(), limits, amount);
  if (!exceeded.ok() || *exceeded == 0) return exceeded;
  return limits[static_cast<std::size_t>(*exceeded - 1)].code;
}

absl::Status CountedLimits::give_back(std::span<const CountedLimit> limits, std::int64_t amount) {
  return run(give_back_script(), limits, amount).status();
}

absl::StatusOr<std::int64_t> CountedLimits::run(const Script& script,
                                                std::span<const CountedLimit> limits,
                                                std::int64_t amount) {
  RETURN_IF_ERROR(check(limits, amount));
  std::vector<std::string_view> keys;
  std::vector<std::string> numbers;  // first, so that the views of it stay valid
  numbers.reserve(1 + 2 * limits.size());
  std::vector<std::string_view> arguments;
  arguments.push_back(numbers.emplace_back(concat(amount)));
  for (const CountedLimit& limit : limits) {
    keys.push_back(limit.key);
    arguments.push_back(limit.field);
    arguments.push_back(numbers.emplace_back(concat(limit.maximum)));
    arguments.push_back(numbers.emplace_back(concat(limit.lifetime_ms)));
  }
  const Reply reply = client_->run(script, keys, arguments);
  if (!reply.is_integer()) return to_status(reply, kCounting);
  return reply.integer();
}

}  // namespace rushgate
