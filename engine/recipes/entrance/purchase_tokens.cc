#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/entrance/purchase_token.lua.h"
#include "engine/recipes/entrance/purchase_token_issue.lua.h"
#include "engine/recipes/entrance/purchase_token_redeem.lua.h"
#include "engine/recipes/option_ranges.h"
#include <rushgate/limits.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& issue_script() {
  static const Script* const kScript = new Script(lua::kPurchaseTokenIssue);
  return *kScript;
}

const Script& redeem_script() {
  static const Script* const kScript = new Script(lua::kPurchaseTokenRedeem);
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

std::string PurchaseTokens::key_of(std::string_view prefix, std::string_view user,
                                   std::int64_t item) {
  return concat(prefix, item, ":", user);
}

absl::StatusOr<std::string> PurchaseTokens::issue(std::int64_t user, std::int64_t item) {
  return issue(concat(user), item);
}

absl::StatusOr<std::string> PurchaseTokens::issue(std::string_view user, std::int64_t item) {
  const std::string name = key_of(options_.key_prefix, user, item);
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
  const std::string name = key_of(options_.key_prefix, concat(user), item);
  const std::string_view keys[] = {name};
  const std::string_view arguments[] = {token};
  const Reply reply = client_->run(redeem_script(), keys, arguments);
  if (!reply.is_integer()) return to_status(reply, "redeeming a purchase token");
  if (reply.integer() == lua::purchase_token::kInvalid) return Redeemed::kInvalid;
  return reply.integer() == lua::purchase_token::kNow ? Redeemed::kNow : Redeemed::kBefore;
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
