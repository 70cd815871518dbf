// What run_rush() has to know of a sale in order to rush it: your script, what it is asked with,
// how its answers read, and where its orders are.
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

/// Who has an order for what. With two orders, he stands in a list twice.
struct RushOrder {
  std::int64_t user = 0;
  std::int64_t voucher = 0;

  friend bool operator==(const RushOrder&, const RushOrder&) = default;
  friend bool operator<(const RushOrder& a, const RushOrder& b) {
    return std::tie(a.user, a.voucher) < std::tie(b.user, b.voucher);
  }
};

/// What happens next for a request: a command is sent, or its buyer is told the answer.
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

/// One EVAL of the script `text` for each request. Throws std::invalid_argument if one of the
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
