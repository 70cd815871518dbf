#include "engine/sale/vouchers/voucher_cache.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/concat.h"
#include "engine/base/numbers.h"

namespace rushgate {
namespace {

/// The format of the string. A string of another format is not read.
constexpr std::int64_t kFormat = 1;

/// Returns the numbers of a version in decimal, each before a space, and the title.
std::string to_text(const VoucherVersion& version) {
  const Voucher& voucher = version.voucher;
  const Limits& limits = voucher.limits;
  std::string text;
  for (const std::int64_t number :
       {kFormat, version.version, voucher.id, voucher.stock, voucher.begin_ms, voucher.end_ms,
        voucher.price_cents, limits.total, limits.per_user, limits.per_user_day,
        std::int64_t{limits.utc_offset_minutes}}) {
    text += concat(number, " ");
  }
  return text + voucher.title;
}

std::optional<VoucherVersion> from_text(std::string_view text) {
  std::array<std::int64_t, 11> numbers{};
  for (std::int64_t& number : numbers) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const auto parsed = parse_int64(text.substr(0, space));
    if (!parsed) return std::nullopt;
    number = *parsed;
    text.remove_prefix(space + 1);
  }
  const auto& [format, version, id, stock, begin_ms, end_ms, price_cents, total, per_user,
               per_user_day, utc_offset_minutes] = numbers;
  if (format != kFormat) return std::nullopt;
  return VoucherVersion{
      .voucher = {.id = id,
                  .title = std::string(text),
                  .stock = stock,
                  .begin_ms = begin_ms,
                  .end_ms = end_ms,
                  .price_cents = price_cents,
                  .limits = {.total = total,
                             .per_user = per_user,
                             .per_user_day = per_user_day,
                             .utc_offset_minutes = static_cast<std::int32_t>(utc_offset_minutes)}},
      .version = version,
      .state = VoucherVersion::State::kApplied};
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
  auto cache = Cache::create(backend, std::move(options));
  if (!cache.ok()) return cache.status();
  return std::unique_ptr<VoucherCache>(new VoucherCache(*std::move(cache), vouchers));
}

VoucherCache::VoucherCache(std::unique_ptr<Cache> cache, VoucherStore& vouchers)
    : cache_(std::move(cache)), vouchers_(vouchers) {}

absl::StatusOr<std::optional<VoucherVersion>> VoucherCache::find(VoucherId voucher) {
  const auto load = [&]() -> absl::StatusOr<Cache::Value> {
    const auto version = vouchers_.applied(voucher);
    if (!version.ok()) return version.status();
    if (!version->has_value()) return std::nullopt;
    return to_text(**version);
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
