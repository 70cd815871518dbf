// Server-sent events.
#include "adapters/http/event_feed.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "engine/core/base/concat.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::http {
namespace {

HttpAnswer stream_answer(RouteCall& call, EventFeed& feed, std::int64_t position) {
  auto place = call.service.places().take();
  if (place == nullptr) return problem(kOverloaded, "too many event streams are open");
  HttpAnswer answer;
  answer.type = "text/event-stream";
  answer.fields.emplace_back("X-Accel-Buffering", "no");  // nginx then keeps no event back
  answer.events = std::make_shared<EventStream>(
      EventStream{.feed = feed, .position = position, .place = std::move(place)});
  return answer;
}

}  // namespace

HttpAnswer stream_orders(RouteCall& call) {
  PaymentStore* const store = call.sale().orders().payments();
  if (store == nullptr) return problem(kFailed, "the order store keeps no changes of orders");
  // A browser that reconnects sends the header, and the query of the first time.
  const std::string& last_id = call.http.last_event_id;
  const std::string& text = last_id.empty() ? call.after : last_id;
  const auto position = text.empty() ? 0 : parse_int64(text);
  if (!position || *position < 0) {
    return problem(kInvalidRequest,
                   "Last-Event-ID, or the query's after, must be the position of a change");
  }
  const auto last = store->last_position();
  if (!last.ok()) return problem_of(last.status());
  if (*position > *last) {
    return problem(kInvalidRequest, concat("the last change of this order database is ", *last));
  }
  return stream_answer(call, call.service.order_feed(), *position);
}

HttpAnswer stream_vouchers(RouteCall& call) {
  return stream_answer(call, call.service.voucher_feed(), -1);
}

}  // namespace rushgate::http
