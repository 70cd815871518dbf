// Dead letters, audits, and the server itself.
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/http/json_body.h"
#include "adapters/http/openapi.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "engine/sale/stream/dead_letters.h"

namespace rushgate::http {

// ---- Dead letters -----------------------------------------------------------------------------

namespace {

const std::string& id_of(const DeadLetter& letter) { return letter.id; }
const std::string& id_of(const DiscardedLetter& discarded) { return discarded.id; }

/// Returns the page of letters behind the query's `after`, which stays valid if its letter is gone. With
/// lanes, several letters may share a position. They are on one page, which may then exceed the limit.
template <class Letter>
HttpAnswer letter_page(const RouteCall& call, const char* name,
                       absl::StatusOr<std::vector<Letter>> (Sale::*list)(StreamId, std::size_t)) {
  const auto after = StreamId::parse(call.after.empty() ? "0-0" : parse_letter_id(call.after).id);
  if (!after) return problem(kInvalidRequest, "the query's after must be the id of a letter");
  const auto letters = (call.sale().sale().*list)(*after, call.limit);
  if (!letters.ok()) return problem_of(letters.status());
  Json page = Json::array();
  for (const Letter& letter : *letters) page.push_back(to_json(letter));
  const bool may_have_more = letters->size() >= call.limit;
  Json next = may_have_more ? Json(id_of(letters->back())) : Json(nullptr);
  return json_answer({{name, std::move(page)}, {"next", std::move(next)}});
}

}  // namespace

HttpAnswer list_dead_letters(RouteCall& call) {
  return letter_page(call, "dead_letters", &Sale::dead_letters);
}

HttpAnswer list_discarded_letters(RouteCall& call) {
  return letter_page(call, "discarded", &Sale::discarded_letters);
}

HttpAnswer retry_dead_letter(RouteCall& call) {
  if (auto wrong = BodyReader(call.body).finish()) return *std::move(wrong);
  const auto is_retried = call.sale().sale().retry_dead_letter(call.name);
  if (!is_retried.ok()) return problem_of(is_retried.status());
  return json_answer({{"id", call.name}, {"retried", *is_retried}});
}

HttpAnswer discard_dead_letter(RouteCall& call) {
  std::string why;
  BodyReader body(call.body);
  body->require("reason", body->read("reason", why) && !why.empty());
  if (auto wrong = body.finish()) return *std::move(wrong);
  const auto is_discarded = call.sale().sale().discard_dead_letter(call.name, why);
  if (!is_discarded.ok()) return problem_of(is_discarded.status());
  return json_answer({{"id", call.name}, {"discarded", *is_discarded}});
}

// ---- Audits -----------------------------------------------------------------------------------

HttpAnswer begin_audit(RouteCall& call) {
  std::int64_t repairs = 0;
  BodyReader body(call.body);
  body->read_flag("repair", repairs);
  if (auto wrong = body.finish()) return *std::move(wrong);
  call.service.audits().begin(repairs != 0);
  constexpr int kAccepted = 202;
  HttpAnswer answer = json_answer(call.service.audits().state(), kAccepted);
  answer.fields.emplace_back("Location", "/v1/audit");
  return answer;
}

HttpAnswer get_audit(RouteCall& call) {
  Json state = call.service.audits().state();
  if (state.is_null()) return problem(kNotFound, "there was no audit since the server started");
  return json_answer(state);
}

// ---- The server -------------------------------------------------------------------------------

HttpAnswer get_health(RouteCall& /*call*/) { return json_answer({{"status", "ok"}}); }

HttpAnswer get_readiness(RouteCall& call) {
  const absl::Status ready = call.sale().readiness();
  if (ready.ok()) return json_answer({{"status", "ready"}});
  const auto message = ready.message();
  return problem(kUnavailable, {message.data(), message.size()});
}

HttpAnswer get_openapi(RouteCall& /*call*/) {
  HttpAnswer answer;
  answer.body = openapi_text();
  return answer;
}

}  // namespace rushgate::http
