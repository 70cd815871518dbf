// Dead letters, audits, and the server itself.
#include <algorithm>
#include <utility>

#include "adapters/flash_sale/sale_json.h"
#include "adapters/http/json_body.h"
#include "adapters/http/openapi.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"

namespace rushgate::http {

// ---- Dead letters -----------------------------------------------------------------------------

HttpAnswer list_dead_letters(RouteCall& call) {
  const auto letters = call.sale().sale().dead_letters();
  if (!letters.ok()) return problem_of(letters.status());
  auto first = letters->begin();
  if (!call.after.empty()) {
    const auto after =
        std::find_if(letters->begin(), letters->end(),
                     [&](const DeadLetter& letter) { return letter.id == call.after; });
    if (after != letters->end()) first = after + 1;  // otherwise it is gone: from the oldest
  }
  Json list = Json::array();
  for (; first != letters->end() && list.size() < call.limit; ++first) {
    list.push_back(to_json(*first));
  }
  Json next = first == letters->end() || list.empty() ? Json(nullptr) : list.back()["id"];
  return json_answer({{"dead_letters", std::move(list)}, {"next", std::move(next)}});
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
  const absl::Status health = call.sale().health();
  if (health.ok()) return json_answer({{"status", "ready"}});
  const auto message = health.message();
  return problem(kUnavailable, {message.data(), message.size()});
}

HttpAnswer get_openapi(RouteCall& /*call*/) {
  HttpAnswer answer;
  answer.body = openapi_text();
  return answer;
}

}  // namespace rushgate::http
