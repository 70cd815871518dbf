#include "engine/sale/vouchers/voucher_cache.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/model/voucher_terms.h"

namespace rushgate {
namespace {

/// The format of the string. A string of another format is not read.
constexpr std::int64_t kFormat = 3;

/// Returns the numbers of a version in decimal, each before a space, and the title.
std::string to_text(const VoucherVersion& version) {
  std::string text = concat(kFormat, " ", version.version, " ", version.voucher.id, " ");
  for (const VoucherTerm& term : kVoucherTerms) text += concat(term.get(version.voucher), " ");
  return text + version.voucher.title;
}

/// Removes a number and a space from the front of `text`. Returns nothing if they are not there.
std::optional<std::int64_t> take_number(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto number = parse_int64(text.substr(0, space));
  text.remove_prefix(space + 1);
  return number;
}

std::optional<VoucherVersion> from_text(std::string_view text) {
  if (take_number(text) != kFormat) return std::nullopt;
  const auto version = take_number(text);
  const auto id = take_number(text);
  if (!version || !id) return std::nullopt;
  VoucherVersion read = {
      .voucher = {.id = *id}, .version = *version, .state = VoucherVersion::State::kApplied};
  for (const VoucherTerm& term : kVoucherTerms) {
    const auto value = take_number(text);
    if (!value || !term.find_fault(*value).empty()) return std::nullopt;
    term.set(read.voucher, *value);
  }
  read.voucher.title = std::string(text);
  return read;
}

}  // namespace

absl::StatusOr<std::unique_ptr<VoucherCache>> VoucherCache::open(Backend& backend,
                                                                 VoucherStore& vouchers,
                                                                 const SaleKeys& keys,
                                                                 std::size_t copies_max,
                                                                 const WaitMethod* wait) {
  CacheOptions options;
  options.key_prefix = keys.prefix + "cache:voucher:";
  options.lock_prefix = keys.prefix + "lock:voucher:";
  options.ttl_ms = kTtlMs;
  options.missing_ttl_ms = kTtlMs;
  options.ttl_jitter_percent = 0;
  options.first_level.entries_max = copies_max;
  options.client.wait = wait;
  ASSIGN_OR_RETURN(auto cache, Cache::create(backend, std::move(options)));
  return std::unique_ptr<VoucherCache>(new VoucherCache(std::move(cache), vouchers));
}

VoucherCache::VoucherCache(std::unique_ptr<Cache> cache, VoucherStore& vouchers)
    : cache_(std::move(cache)), vouchers_(vouchers) {}

absl::StatusOr<std::optional<VoucherVersion>> VoucherCache::find(VoucherId voucher) {
  const auto load = [&]() -> absl::StatusOr<Cache::Value> {
    ASSIGN_OR_RETURN(const auto version, vouchers_.applied(voucher));
    if (!version.has_value()) return std::nullopt;
    return to_text(*version);
  };
  const auto text = cache_->get_or_load(DecimalText(voucher).view(), load);
  if (text.ok() && !text->has_value()) return std::nullopt;
  if (text.ok()) {
    if (auto version = from_text(**text); version && version->voucher.id == voucher) {
      return version;
    }
  }
  return vouchers_.applied(voucher);
}

absl::Status VoucherCache::forget(VoucherId voucher) {
  return cache_->invalidate(DecimalText(voucher).view());
}

}  // namespace rushgate
