#include "engine/sale/scripts/custom_admission_requests.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/admission_guard.h"

namespace rushgate {
namespace {

std::vector<WordTemplate> parsed(const std::vector<std::string>& words) {
  std::vector<WordTemplate> templates;
  templates.reserve(words.size());
  for (const std::string& word : words) templates.push_back(*WordTemplate::parse(word));
  return templates;
}

}  // namespace

CustomAdmissionRequests::CustomAdmissionRequests(Client& client, const SaleKeys& keys,
                                                 CustomAdmission admission,
                                                 std::int64_t request_ttl_ms)
    : client_(client),
      keys_(keys),
      admission_(std::move(admission)),
      request_ttl_ms_(request_ttl_ms),
      script_(guarded_admission(admission_)),
      key_words_(parsed(admission_.keys)),
      argument_words_(parsed(admission_.arguments)) {}

absl::Status CustomAdmissionRequests::load() {
  // By itself first: the guard must not complete an unfinished script, and messages name its lines.
  for (const std::string& text : {admission_.text, script_.text()}) {
    const Reply loaded = client_("SCRIPT", "LOAD", text);
    if (!loaded.is_error()) continue;
    if (loaded.text().find("compiling") == std::string::npos)
      return to_status(loaded, "loading the admission script");
    return absl::InvalidArgumentError("admission.text: " + loaded.text());
  }
  return absl::OkStatus();
}

Request CustomAdmissionRequests::make(VoucherId voucher,
                                      const AdmissionRequests::Buyer& buyer) const {
  const bool has_request = !buyer.idempotency_key.empty();
  std::vector<std::string> keys = {keys_.voucher(voucher), keys_.stock(voucher),
                                   keys_.buyers(voucher), keys_.order_stream};
  if (has_request) keys.push_back(keys_.request(buyer.idempotency_key));
  std::vector<std::string> arguments = {
      has_request ? "1" : "0", concat(voucher),         buyer.user->text(),
      concat(buyer.order),     concat(request_ttl_ms_), std::string(buyer.idempotency_key)};
  const auto expand = [&](const std::vector<WordTemplate>& words, std::vector<std::string>& to) {
    for (const WordTemplate& word : words)
      to.push_back(word.expand(keys_, voucher, *buyer.user, buyer.order));
  };
  expand(key_words_, keys);
  expand(argument_words_, arguments);
  const std::vector<std::string_view> key_views(keys.begin(), keys.end());
  const std::vector<std::string_view> argument_views(arguments.begin(), arguments.end());
  return client_.script_request(script_, key_views, argument_views);
}

std::optional<AdmissionReply> CustomAdmissionRequests::read_own(const Reply& reply, OrderId order) {
  if (reply.kind() != Reply::Kind::kArray || reply.elements().empty()) return std::nullopt;
  const bool is_repetition = reply.elements().size() == 2;
  return AdmissionReply::read(is_repetition ? reply : reply.elements()[0], order);
}

std::optional<BuyResult> CustomAdmissionRequests::read_custom(const Reply& reply,
                                                              OrderId order) const {
  // An error that a script raised ends with the script's name. If the error means that the server
  // is unavailable, the script's first write was refused.
  const bool is_raised = reply.is_error() && reply.text().find(script_.sha1()) != std::string::npos;
  if (is_raised && !absl::IsUnavailable(to_status(reply, ""))) {
    return BuyResult{.outcome = Outcome::kOutcomeUnknown, .order = order, .detail = reply.text()};
  }
  if (!reply.is_integer()) return std::nullopt;
  const auto found =
      std::ranges::find(admission_.codes, reply.integer(), &CustomAdmission::Code::code);
  if (found == admission_.codes.end()) return std::nullopt;
  return BuyResult{.outcome = found->outcome,
                   .order = found->outcome == Outcome::kAccepted ? order : 0,
                   .detail = found->detail};
}

absl::Status CustomAdmissionRequests::check(const Voucher& voucher) const {
  const Limits& limits = voucher.limits;
  const char* const limit = limits.total != 0          ? "limits.total"
                            : limits.per_user_day != 0 ? "limits.per_user_day"
                            : voucher.payment_ms != 0  ? "payment_ms"
                            : voucher.waiting_max != 0 ? "waiting_max"
                            : voucher.needs_token      ? "needs_token"
                            : limits.per_user != 1 && !admission_.counts_buyers ? "limits.per_user"
                                                                                : nullptr;
  if (limit == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat("voucher ", voucher.id, ": the admission script does not keep ", limit));
}

}  // namespace rushgate
