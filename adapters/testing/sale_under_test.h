// The description of a sale for run_rush(): your script, its requests, the meaning of its replies,
// and the place of its orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/testing/rush.h"
#include <rushgate/client.h>
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate::testing {

/// kFailed: neither accepted nor refused, for example a script's error. It fails the test.
enum class RushAnswer : std::uint8_t { kAccepted, kRefused, kFailed };

/// The user and voucher of one order.
struct RushOrder {
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushOrder&, const RushOrder&) = default;
  friend bool operator<(const RushOrder& a, const RushOrder& b) {
    return std::tie(a.user, a.voucher) < std::tie(b.user, b.voucher);
  }
};

/// The next step of a request: a command to send, or the final result.
using RushStep = std::variant<Request, RushAnswer>;

struct SaleUnderTest {
  /// Puts everything on sale. May be empty.
  std::function<void(Client&)> prepare = {};

  /// Returns the next step of a request, given the replies to its commands so far (none at first).
  /// For a sale with one script, use by_script(). A sale with several commands returns them one by
  /// one. Commands of other buyers may run in between.
  std::function<RushStep(const RushRequest&, std::span<const Reply>)> buy = {};

  /// Returns all orders. If it is empty, only replies are checked, and lost orders are not
  /// detected.
  std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders = {};
};

struct ScriptArguments {
  std::vector<std::string> keys;       // KEYS
  std::vector<std::string> arguments;  // ARGV
};

/// Returns a function that sends an EVAL of `text` for each request. Throws std::invalid_argument
/// if one of the functions is empty.
std::function<RushStep(const RushRequest&, std::span<const Reply>)> by_script(
    std::string text, std::function<ScriptArguments(const RushRequest&)> arguments,
    std::function<RushAnswer(const Reply&)> read);

/// Returns a function that reads a reply equal to `yes` as accepted, an error as failed, and any
/// other as refused.
std::function<RushAnswer(const Reply&)> accepted_if(Reply yes);

/// Returns a function that reads a stream. Each entry is an order, with user and voucher in fields
/// of these names. An entry without them is an error.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_stream(
    std::string key, std::string user_field, std::string voucher_field);

/// Returns a function that reads one set per voucher. Its key is `prefix` and the voucher's id. Its
/// members are users.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_sets(
    std::string prefix, std::vector<std::int64_t> vouchers);

}  // namespace rushgate::testing
