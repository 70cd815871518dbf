#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

// KEYS  1 the user's token of the item: "<token>", or "<token> used"
// ARGV  1 a new token  2 how long it is valid (ms)
// Returns the user's present token.
const Script& issue_script() {
  static const Script* const kScript = new Script(R"lua(
local token = redis.call('GET', KEYS[1])
if token then return string.match(token, '^%S+') end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
)lua");
  return *kScript;
}

// KEYS  1 as above  ARGV  1 token. Returns 1 now, 2 before, 0 invalid.
const Script& redeem_script() {
  static const Script* const kScript = new Script(R"lua(
local token = redis.call('GET', KEYS[1])
if token == ARGV[1] .. ' used' then return 2 end
if token ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], token .. ' used', 'KEEPTTL')
return 1
)lua");
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PurchaseTokens>> PurchaseTokens::create(
    Backend& backend, PurchaseTokensOptions options) {
  OptionRanges ranges("purchase tokens");
  ranges.check("ttl_ms", options.ttl_ms, 1, kTtlMsMax);
  if (!ranges.fault().ok()) return ranges.fault();
  return std::unique_ptr<PurchaseTokens>(new PurchaseTokens(backend, std::move(options)));
}

PurchaseTokens::PurchaseTokens(Backend& backend, PurchaseTokensOptions options)
    : options_(std::move(options)),
      ttl_ms_(concat(options_.ttl_ms)),
      client_(backend.open_client(options_.client)) {}

std::string PurchaseTokens::key(std::int64_t user, std::int64_t item) const {
  return concat(options_.key_prefix, item, ":", user);
}

absl::StatusOr<std::string> PurchaseTokens::issue(std::int64_t user, std::int64_t item) {
  const std::string name = key(user, item);
  const std::string fresh = random_name() + random_name();
  const std::string_view keys[] = {name};
  const std::string_view arguments[] = {fresh, ttl_ms_};
  Reply token = client_->run(issue_script(), keys, arguments);
  if (token.kind() != Reply::Kind::kBulk) return to_status(token, "issuing a purchase token");
  return std::move(token.mutable_text());
}

absl::StatusOr<PurchaseTokens::Redeemed> PurchaseTokens::redeem(std::int64_t user,
                                                                std::int64_t item,
                                                                std::string_view token) {
  // "<token> used" is no token, and no user has an empty one.
  if (token.empty() || token.find(' ') != std::string_view::npos) return Redeemed::kInvalid;
  const std::string name = key(user, item);
  const std::string_view keys[] = {name};
  const std::string_view arguments[] = {token};
  const Reply reply = client_->run(redeem_script(), keys, arguments);
  if (!reply.is_integer()) return to_status(reply, "redeeming a purchase token");
  if (reply.integer() == 0) return Redeemed::kInvalid;
  return reply.integer() == 1 ? Redeemed::kNow : Redeemed::kBefore;
}

std::string_view redeemed_name(PurchaseTokens::Redeemed redeemed) {
  switch (redeemed) {
    case PurchaseTokens::Redeemed::kNow:
      return "now";
    case PurchaseTokens::Redeemed::kBefore:
      return "before";
    case PurchaseTokens::Redeemed::kInvalid:
      return "invalid";
  }
  return "?";
}

}  // namespace rushgate
