#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/limits/permission_reply.h"
#include "engine/recipes/limits/token_bucket_take.lua.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr char kNativeTake[] = "rushgate_token_bucket";

const Script& bucket_take_script() {
  static const Script* const kScript = new Script(lua::kTokenBucketTake, kNativeTake);
  return *kScript;
}

/// Parses a number; most are whole.
std::optional<double> parse_number(std::string_view text) {
  if (const auto integer = parse_int64(text)) return static_cast<double>(*integer);
  return parse_double(text);
}

double number_of(std::string_view argument) {
  if (const auto number = parse_number(argument)) return *number;
  throw ScriptError("ERR value is not a valid float");
}

/// Returns "<at> <missing>" as Lua's "%.0f %.17g" has it. `at` is a whole number.
class BucketText {
 public:
  BucketText(double at, double missing) {
    constexpr int kDigits = 17;         // distinguishes all doubles
    constexpr double kWholeMax = 1e15;  // written without an exponent
    char* const end = bytes_.data() + bytes_.size();
    char* next = std::to_chars(bytes_.data(), end, static_cast<std::int64_t>(at)).ptr;
    *next++ = ' ';
    if (missing < kWholeMax && missing == std::floor(missing)) {
      next = std::to_chars(next, end, static_cast<std::int64_t>(missing)).ptr;
    } else {
      next = std::to_chars(next, end, missing, std::chars_format::general, kDigits).ptr;
    }
    size_ = static_cast<std::size_t>(next - bytes_.data());
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 64> bytes_;
  std::size_t size_;
};

/// Does the same as bucket_take_script().
Reply native_take(NativeCall& call) {
  constexpr double kNearly = 0.001;
  const double tokens = number_of(call.argument(0));
  const double capacity = number_of(call.argument(1));
  const double refill = number_of(call.argument(2));
  const auto now = static_cast<double>(call.now_ms()) * double{kUsPerMs};

  double at = now;
  double missing = 0;
  call.get(call.key(0), [&](std::string_view text) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const auto known_at = parse_int64(text.substr(0, space));
    const auto known_missing = parse_number(text.substr(std::min(space + 1, text.size())));
    if (!known_at || !known_missing) {
      throw ScriptError(concat("ERR not a token bucket: ", call.key(0)));
    }
    at = static_cast<double>(*known_at);
    missing = std::min(refill, std::max(0.0, *known_missing - std::max(0.0, now - at)));
  });

  const double cost = tokens * refill / capacity;
  double wait = missing + cost - refill;
  const bool is_granted = wait < kNearly;
  if (is_granted) {
    missing += cost;
    wait = 0;
  }
  if (is_granted || at > now) {
    call.set_until(
        call.key(0), BucketText(now, missing).view(),
        call.now_ms() + static_cast<std::int64_t>(std::ceil(missing / double{kUsPerMs})) + 1);
  }
  const double remaining = std::floor((refill - missing) * capacity / refill + kNearly);
  return permission_reply(is_granted, static_cast<std::int64_t>(remaining),
                          static_cast<std::int64_t>(std::ceil(wait)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenBucket>> TokenBucket::create(Backend& backend,
                                                                 TokenBucketOptions options) {
  OptionRanges ranges("token bucket");
  ranges.check("the capacity", options.capacity, 1, kCapacityMax)
      .check("refill_ms", options.refill_ms, 1, kRefillMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  const NamedScript native = {.name = kNativeTake, .script = native_take};
  backend.add_native_scripts({&native, 1});
  return std::unique_ptr<TokenBucket>(new TokenBucket(backend, std::move(options)));
}

TokenBucket::TokenBucket(Backend& backend, TokenBucketOptions options)
    : options_(std::move(options)),
      capacity_(concat(options_.capacity)),
      refill_us_(concat(options_.refill_ms * 1'000)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<Permission> TokenBucket::take(std::string_view name, std::int64_t tokens) {
  OptionRanges ranges("token bucket");
  ranges.check("the number of tokens asked for", tokens, 1, options_.capacity);
  if (!ranges.fault().ok()) return ranges.fault();
  return to_permission(client_->run(bucket_take_script(), [&] { return request(name, tokens); }),
                       "taking of a token bucket");
}

std::vector<absl::StatusOr<Permission>> TokenBucket::take_all(
    std::span<const std::string_view> names) {
  std::vector<Request> requests;
  requests.reserve(names.size());
  for (const std::string_view name : names) requests.push_back(request(name, 1));
  std::vector<absl::StatusOr<Permission>> permissions;
  permissions.reserve(names.size());
  for (const Reply& reply : client_->run_all(bucket_take_script(), requests)) {
    permissions.push_back(to_permission(reply, "taking of a token bucket"));
  }
  return permissions;
}

Request TokenBucket::request(std::string_view name, std::int64_t tokens) const {
  const std::string key = concat(options_.key_prefix, name);
  const DecimalText tokens_text(tokens);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {tokens_text.view(), capacity_, refill_us_};
  return client_->script_request(bucket_take_script(), keys, arguments);
}

}  // namespace rushgate
