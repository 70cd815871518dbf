#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "adapters/testing/refuse_if.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include <rushgate/testing_rush.h>

namespace rushgate::testing {
namespace {

absl::Status unreadable(const std::string& key, const Reply& reply) {
  return absl::InvalidArgumentError(concat(key, ": ", to_debug_string(reply)));
}
absl::Status no_number(const std::string& key, const std::string& field, const Reply& entry) {
  return absl::InvalidArgumentError(
      concat(key, ": no number in the field '", field, "' of ", to_debug_string(entry)));
}

/// Returns the number in the field `name` of an entry's fields and values.
std::optional<std::int64_t> number_in(const std::vector<Reply>& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].text() == name) return parse_int64(fields[i + 1].text());
  }
  return std::nullopt;
}

}  // namespace

std::function<RushStep(const RushRequest&, std::span<const Reply>)> by_script(
    std::string text, std::function<ScriptArguments(const RushRequest&)> arguments,
    std::function<RushResult(const Reply&)> read) {
  refuse_if(arguments == nullptr || read == nullptr,
            "by_script: the request, or the reading of its reply, is missing");
  return [text = std::move(text), arguments = std::move(arguments), read = std::move(read)](
             const RushRequest& request, std::span<const Reply> replies) -> RushStep {
    if (!replies.empty()) return read(replies.back());
    const ScriptArguments made = arguments(request);
    const std::vector<std::string_view> keys(made.keys.begin(), made.keys.end());
    const std::vector<std::string_view> rest(made.arguments.begin(), made.arguments.end());
    return make_script_request("EVAL", text, keys, rest);
  };
}

std::function<RushResult(const Reply&)> accepted_if(Reply yes) {
  return [yes = std::move(yes)](const Reply& reply) {
    if (reply == yes) return RushResult::kAccepted;
    return reply.is_error() ? RushResult::kFailed : RushResult::kRefused;
  };
}

std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_stream(
    std::string key, std::string user_field, std::string voucher_field) {
  return [=](Client& client) -> absl::StatusOr<std::vector<RushOrder>> {
    constexpr int kPortion = 1'000;
    std::vector<RushOrder> orders;
    for (std::string from = "-";;) {
      const Reply portion = client("XRANGE", key, from, "+", "COUNT", kPortion);
      if (!portion.is_aggregate()) return unreadable(key, portion);
      if (portion.elements().empty()) return orders;
      for (const Reply& entry : portion.elements()) {
        const auto& fields = entry.elements()[1].elements();
        const auto user = number_in(fields, user_field);
        const auto voucher = number_in(fields, voucher_field);
        if (!user) return no_number(key, user_field, entry);
        if (!voucher) return no_number(key, voucher_field, entry);
        orders.push_back({.user = *user, .voucher = *voucher});
      }
      from = "(" + portion.elements().back().elements()[0].text();
    }
  };
}

std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_sets(
    std::string prefix, std::vector<std::int64_t> vouchers) {
  return [=](Client& client) -> absl::StatusOr<std::vector<RushOrder>> {
    std::vector<RushOrder> orders;
    for (const std::int64_t voucher : vouchers) {
      const std::string key = concat(prefix, voucher);
      const Reply members = client("SMEMBERS", key);
      if (!members.is_aggregate()) return unreadable(key, members);
      for (const Reply& member : members.elements()) {
        const auto user = parse_int64(member.text());
        if (!user) return unreadable(key, member);
        orders.push_back({.user = *user, .voucher = voucher});
      }
    }
    return orders;
  };
}

std::function<absl::StatusOr<std::vector<RushOrder>>(Client&)> orders_in_hashes(
    std::string prefix, std::vector<std::int64_t> vouchers) {
  return [=](Client& client) -> absl::StatusOr<std::vector<RushOrder>> {
    constexpr std::int64_t kOrdersMax = 1'000'000;
    std::vector<RushOrder> orders;
    for (const std::int64_t voucher : vouchers) {
      const std::string key = concat(prefix, voucher);
      const Reply counts = client("HGETALL", key);
      if (!counts.is_aggregate()) return unreadable(key, counts);
      const auto& words = counts.elements();
      for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        const auto user = parse_int64(words[i].text());
        const auto count = parse_int64(words[i + 1].text());
        if (!user) return unreadable(key, words[i]);
        if (!count || *count < 0 || *count > kOrdersMax) return unreadable(key, words[i + 1]);
        orders.insert(orders.end(), static_cast<std::size_t>(*count),
                      {.user = *user, .voucher = voucher});
      }
    }
    return orders;
  };
}

std::string_view rush_result_name(RushResult result) {
  switch (result) {
    case RushResult::kAccepted:
      return "accepted";
    case RushResult::kRefused:
      return "refused";
    case RushResult::kFailed:
      return "failed";
  }
  return "?";
}

}  // namespace rushgate::testing
