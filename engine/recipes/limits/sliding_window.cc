#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/time_units.h"
#include "engine/recipes/limits/permission_reply.h"
#include "engine/recipes/limits/sliding_window_approximate.lua.h"
#include "engine/recipes/limits/sliding_window_exact.lua.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr char kNativeExact[] = "rushgate_exact_sliding_window";

const Script& exact_script() {
  static const Script* const kScript = new Script(lua::kSlidingWindowExact, kNativeExact);
  return *kScript;
}

constexpr char kNativeApproximate[] = "rushgate_sliding_window";

const Script& approximate_script() {
  static const Script* const kScript =
      new Script(lua::kSlidingWindowApproximate, kNativeApproximate);
  return *kScript;
}

struct Terms {
  std::int64_t maximum;
  std::int64_t length_us;
};

Terms terms_of(const NativeCall& call) {
  const auto maximum = parse_int64(call.argument(0));
  const auto length_us = parse_int64(call.argument(1));
  constexpr std::int64_t kLengthMax = SlidingWindow::kWindowMsMax * kUsPerMs;
  if (!maximum || *maximum < 1 || !length_us || *length_us < 1 || *length_us > kLengthMax) {
    throw ScriptError("ERR value is not an integer or out of range");
  }
  return {*maximum, *length_us};
}

/// Returns the expiry of a key that is kept for `us` from now on.
std::int64_t expiry_ms(const NativeCall& call, std::int64_t us) {
  return call.now_ms() + (us + kUsPerMs - 1) / kUsPerMs;
}

/// The name of a grant: "<us since 1970>:<number>".
class GrantName {
 public:
  GrantName(std::int64_t at_us, std::int64_t number) {
    char* const end = bytes_.data() + bytes_.size();
    char* next = std::to_chars(bytes_.data(), end, at_us).ptr;
    *next++ = ':';
    next = std::to_chars(next, end, number).ptr;
    size_ = static_cast<std::size_t>(next - bytes_.data());
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 48> bytes_;
  std::size_t size_;
};

/// Moves grants of a later time to now, after the clock went back.
void regrant_now(NativeCall& call, std::string_view key, std::int64_t now_us) {
  const Reply later = call.call(Request::of("ZRANGEBYSCORE", key, concat("(", now_us), "+inf"));
  if (later.is_error()) throw ScriptError(later.text());
  for (const Reply& grant : later.elements()) {
    const Reply added = call.call(Request::of("ZADD", key, now_us, grant.text()));
    if (added.is_error()) throw ScriptError(added.text());
  }
}

/// Does the same as exact_script().
Reply native_exact(NativeCall& call) {
  const auto [maximum, length_us] = terms_of(call);
  const std::string_view key = call.key(0);
  const std::int64_t now_us = call.now_ms() * kUsPerMs;
  call.sorted_set_remove_up_to(key, static_cast<double>(now_us - length_us));
  auto grants = call.sorted_set_scores(key);
  if (grants && grants->greatest > static_cast<double>(now_us)) {
    regrant_now(call, key, now_us);
    grants = call.sorted_set_scores(key);
  }

  const std::int64_t count = call.sorted_set_size(key);
  if (count >= maximum) {
    const auto oldest_us = static_cast<std::int64_t>(grants->lowest);
    return permission_reply(false, 0, oldest_us + length_us - now_us);
  }
  std::int64_t number = count;
  while (!call.sorted_set_add(key, GrantName(now_us, number).view(), static_cast<double>(now_us))) {
    ++number;
  }
  call.expire_at(key, expiry_ms(call, length_us));
  return permission_reply(true, maximum - count - 1, 0);
}

/// Does the same as approximate_script().
Reply native_approximate(NativeCall& call) {
  constexpr double kNearly = 0.000'001;
  constexpr std::array<std::string_view, 3> kFields = {"window", "current", "previous"};
  const std::string_view key = call.key(0);
  const auto [whole_maximum, length_us] = terms_of(call);
  const auto maximum = static_cast<double>(whole_maximum);
  const auto length = static_cast<double>(length_us);
  const auto now = static_cast<double>(call.now_ms() * kUsPerMs);
  const auto window = static_cast<std::int64_t>(std::floor(now / length));

  std::array<std::optional<std::int64_t>, 3> known;
  call.hash_get_integers(key, kFields, known);
  const std::optional<std::int64_t> before = known[0];
  auto current = static_cast<double>(known[1].value_or(0));
  auto previous = static_cast<double>(known[2].value_or(0));
  if (before && *before < window) {
    previous = *before == window - 1 ? current : 0;
    current = 0;
  } else if (before && *before > window) {
    call.hash_set(key, kFields[0], DecimalText(window).view());
  }

  const double left = length - (now - static_cast<double>(window) * length);
  const double count = previous * left / length + current;
  if (count + 1 > maximum + kNearly) {
    double wait = left;
    if (current + 1 <= maximum) {
      wait = std::min(wait, left - (maximum - current - 1) * length / previous);
    } else {
      wait = wait + length - (maximum - 1) * length / current;
    }
    const auto wait_us = static_cast<std::int64_t>(std::max(1.0, std::ceil(wait)));
    return permission_reply(false, 0, wait_us);
  }
  const std::array<std::int64_t, 3> values = {window, static_cast<std::int64_t>(current) + 1,
                                              static_cast<std::int64_t>(previous)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (known[i] != values[i]) call.hash_set(key, kFields[i], DecimalText(values[i]).view());
  }
  call.expire_at(key, expiry_ms(call, 2 * length_us));
  const double remaining = std::floor(maximum - count - 1);
  return permission_reply(true, static_cast<std::int64_t>(remaining), 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlidingWindow>> SlidingWindow::create(Backend& backend,
                                                                     SlidingWindowOptions options) {
  const std::int64_t maximum_max =
      options.kind == SlidingWindowOptions::Kind::kExact ? kExactMaximumMax : kMaximumMax;
  OptionRanges ranges("sliding window");
  ranges.check("the maximum", options.maximum, 1, maximum_max)
      .check("window_ms", options.window_ms, 1, kWindowMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  const std::array<NamedScript, 2> natives = {
      NamedScript{.name = kNativeExact, .script = native_exact},
      NamedScript{.name = kNativeApproximate, .script = native_approximate}};
  backend.add_native_scripts(natives);
  return std::unique_ptr<SlidingWindow>(new SlidingWindow(backend, std::move(options)));
}

SlidingWindow::SlidingWindow(Backend& backend, SlidingWindowOptions options)
    : options_(std::move(options)),
      maximum_(concat(options_.maximum)),
      window_us_(concat(options_.window_ms * 1'000)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<Permission> SlidingWindow::take(std::string_view name) {
  const std::string key = concat(options_.key_prefix, name);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {maximum_, window_us_};
  const Script& script =
      options_.kind == SlidingWindowOptions::Kind::kExact ? exact_script() : approximate_script();
  return to_permission(client_->run(script, keys, arguments), "taking of a sliding window");
}

std::string_view sliding_window_kind_name(SlidingWindowOptions::Kind kind) {
  switch (kind) {
    case SlidingWindowOptions::Kind::kExact:
      return "exact";
    case SlidingWindowOptions::Kind::kApproximate:
      return "approximate";
  }
  return "?";
}

}  // namespace rushgate
