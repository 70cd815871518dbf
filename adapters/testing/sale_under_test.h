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
#include "engine/client/client.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate::testing {

/// kFailed: neither yes nor no, such as a script's error. A sale that gives it has failed the test.
enum class RushAnswer : std::uint8_t { kAccepted, kRefused, kFailed };

/// The user and voucher of an order. Two orders of a user are two elements.
struct RushOrder {
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushOrder&, const RushOrder&) = default;
  friend bool operator<(const RushOrder& a, const RushOrder& b) {
    return std::tie(a.user, a.voucher) < std::tie(b.user, b.voucher);
  }
};

/// The next step of a request: a command to send, or the result for its buyer.
using RushStep = std::variant<Request, RushAnswer>;

struct SaleUnderTest {
  /// Puts everything on sale. May be empty.
  std::function<void(Client&)> prepare = {};

  /// One request, as a function of the replies to the commands sent for it so far: none at first.
  /// For a sale of one script, by_script() makes it. A sale of several commands gives them one
  /// after the other; between them come those of other buyers.
  std::function<RushStep(const RushRequest&, std::span<const Reply>)> buy = {};

  /// All orders there are. If it is empty, replies alone are checked; then nothing can be found
  /// lost.
  std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders = {};
};

struct ScriptArguments {
  std::vector<std::string> keys;       // KEYS
  std::vector<std::string> arguments;  // ARGV
};

/// Sends an EVAL of `text` for each request. Throws std::invalid_argument if one of the
/// functions is empty.
std::function<RushStep(const RushRequest&, std::span<const Reply>)> by_script(
    std::string text, std::function<ScriptArguments(const RushRequest&)> arguments,
    std::function<RushAnswer(const Reply&)> read);

/// Reads a reply that equals `yes` as accepted, an error as failed, any other as refused.
std::function<RushAnswer(const Reply&)> accepted_if(Reply yes);

/// Of a stream: each entry is an order, with the user and the voucher in fields of these names. An
/// entry without them is an error.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_stream(
    std::string key, std::string user_field, std::string voucher_field);

/// Of sets, one for each of `vouchers`: `prefix` and the voucher's id name it, its members are
/// users.
std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_sets(
    std::string prefix, std::vector<std::int64_t> vouchers);

}  // namespace rushgate::testing
