#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/limits/concurrency_acquire.lua.h"
#include "engine/recipes/limits/concurrency_change.lua.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& permit_script() {
  static const Script* const kScript = new Script(lua::kConcurrencyAcquire);
  return *kScript;
}

const Script& change_script() {
  static const Script* const kScript = new Script(lua::kConcurrencyChange);
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConcurrencyLimit>> ConcurrencyLimit::create(
    Backend& backend, ConcurrencyLimitOptions options) {
  OptionRanges ranges("concurrency limit");
  ranges.check("the maximum", options.maximum, 1, kMaximumMax)
      .check("lease_ms", options.lease_ms, 1, kLeaseMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  return std::unique_ptr<ConcurrencyLimit>(new ConcurrencyLimit(backend, std::move(options)));
}

ConcurrencyLimit::ConcurrencyLimit(Backend& backend, ConcurrencyLimitOptions options)
    : options_(std::move(options)),
      maximum_(concat(options_.maximum)),
      lease_ms_(concat(options_.lease_ms)),
      client_(backend.open_client(options_.client)) {}

absl::StatusOr<ConcurrencyLimit::Acquired> ConcurrencyLimit::acquire(std::string_view name) {
  const std::string key = concat(options_.key_prefix, name);
  std::string permit = random_name();
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {maximum_, lease_ms_, permit};
  const Reply wait = client_->run(permit_script(), keys, arguments);
  if (!wait.is_integer()) return to_status(wait, "acquiring a permit");
  if (wait.integer() > 0) return Acquired{.permit = {}, .retry_after_ms = wait.integer()};
  return Acquired{.granted = true, .permit = std::move(permit)};
}

absl::StatusOr<bool> ConcurrencyLimit::renew(std::string_view name, std::string_view permit) {
  return change(name, permit, lease_ms_, "renewing a permit");
}

absl::StatusOr<bool> ConcurrencyLimit::release(std::string_view name, std::string_view permit) {
  return change(name, permit, "0", "releasing a permit");
}

absl::StatusOr<bool> ConcurrencyLimit::change(std::string_view name, std::string_view permit,
                                              std::string_view lease_ms, std::string_view doing) {
  const std::string key = concat(options_.key_prefix, name);
  const std::string_view keys[] = {key};
  const std::string_view arguments[] = {permit, lease_ms};
  const Reply reply = client_->run(change_script(), keys, arguments);
  if (!reply.is_integer()) return to_status(reply, doing);
  return reply.integer() == 1;
}

}  // namespace rushgate
