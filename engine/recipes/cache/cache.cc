#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/recipes/cache/cache_core.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/cache.h>

namespace rushgate {
namespace {

absl::Status check(const CacheOptions& options) {
  constexpr std::int64_t kLoadsMax = 1'000'000;
  constexpr std::int64_t kValueBytesMax = 512 * 1'024 * 1'024;  // of a string in Redis
  constexpr std::int64_t kEntriesMax = 100'000'000;
  constexpr std::int64_t kFirstLevelBytesMax = std::int64_t{1} << 40;
  constexpr std::int64_t kTtlMsMax = Cache::kTtlMsMax;
  if (options.key_prefix == options.lock_prefix) {
    return absl::InvalidArgumentError("cache: key_prefix and lock_prefix are the same");
  }
  const CacheOptions::FirstLevel& first_level = options.first_level;
  return OptionRanges("cache")
      .check("ttl_ms", options.ttl_ms, 1, kTtlMsMax)
      .check("missing_ttl_ms", options.missing_ttl_ms, 1, kTtlMsMax)
      .check("ttl_jitter_percent", options.ttl_jitter_percent, 0, 100)
      .check("load_lease_ms", options.load_lease_ms, 1, kTtlMsMax)
      .check("wait_ms", options.wait_ms, 0, kTtlMsMax)
      .check("value_bytes_max", static_cast<std::int64_t>(options.value_bytes_max), 1,
             kValueBytesMax)
      .check("stale_ms", options.stale_ms, 0, kTtlMsMax)
      .check("background_loads_max", options.background_loads_max, 1, kLoadsMax)
      .check("first_level.entries_max", static_cast<std::int64_t>(first_level.entries_max), 0,
             kEntriesMax)
      .check("first_level.bytes_max", static_cast<std::int64_t>(first_level.bytes_max), 1,
             kFirstLevelBytesMax)
      .check("first_level.ttl_ms", first_level.ttl_ms, 1, kTtlMsMax)
      .fault();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cache>> Cache::create(Backend& backend, CacheOptions options) {
  RETURN_IF_ERROR(check(options));
  const auto core = std::make_shared<CacheCore>(backend, std::move(options));
  RETURN_IF_ERROR(core->open(backend));
  return std::unique_ptr<Cache>(new Cache(core));
}

Cache::Cache(std::shared_ptr<CacheCore> core) : core_(std::move(core)) {}

Cache::~Cache() { core_->close(); }

absl::StatusOr<Cache::Value> Cache::get_or_load(std::string_view key, Loader loader) {
  return core_->get_or_load(key, std::move(loader));
}

void Cache::get_or_load_async(std::string_view key, Loader loader, Callback done) {
  core_->get_or_load_async(key, std::move(loader), std::move(done));
}

absl::Status Cache::invalidate(std::string_view key) { return core_->invalidate(key); }

}  // namespace rushgate
