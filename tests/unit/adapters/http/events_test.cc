// Server-sent events.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/flash_sale/json_text.h"
#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::http_request;

struct Event {
  std::string id;
  std::string name;
  Json data;
};

/// A client of an event stream.
class Listener {
 public:
  Listener(const ServedSale& served, const std::string& target, const std::string& fields = {})
      : connection_(served.connect()) {
    connection_.send(http_request("GET", target, "", fields));
    const HttpReply reply = connection_.receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.field("content-type"), "text/event-stream");
  }

  Event next() {
    Event event;
    for (std::string line; (line = connection_.receive_until("\n")) != "\n";) {
      line.pop_back();
      if (line.starts_with("id: ")) event.id = line.substr(4);
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("data: ")) event.data = parse_trusted_json(line.substr(6));
    }
    return event.id.empty() ? next() : event;  // after a comment
  }

 private:
  HttpConnection connection_;
};

/// Cancels `count` new orders, and returns their ids.
std::vector<std::string> cancel_some(const ServedSale& served, int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) {
    const BuyResult bought = served.sale().buy(BuyRequest{.voucher = 7, .user = UserId(i)});
    EXPECT_TRUE(served.sale().drain().ok());
    EXPECT_EQ(served.sale().cancel(bought.order, "no").outcome, ChangeOutcome::kDone);
    EXPECT_TRUE(served.sale().drain().ok());
    ids.push_back(std::to_string(bought.order));
  }
  return ids;
}

TEST(HttpEventsTest, ReconnectingClientMissesAndDoublesNothing) {
  const ServedSale served;
  served.publish(7, 100, 60'000);
  const auto first = cancel_some(served, 2);
  Listener early(served, "/v1/events");
  EXPECT_EQ(early.next().data["order"], first[0]);
  const Event second = early.next();
  EXPECT_EQ(second.name, "order");
  EXPECT_EQ(second.id, std::to_string(second.data["position"].get<int>()));
  EXPECT_EQ(second.data["to"], "cancelled");
  Listener late(served, "/v1/events?after=0", "Last-Event-ID: " + second.id + "\r\n");
  const auto more = cancel_some(served, 3);
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < more.size(); ++i) seen.push_back(late.next().data["order"]);
  EXPECT_EQ(seen, more);
  EXPECT_EQ(early.next().data["order"], more[0]);
  EXPECT_EQ(served.call("GET", "/v1/events?after=999").problem(), "invalid-request");
  EXPECT_EQ(served.call("GET", "/v1/events?after=x").problem(), "invalid-request");
}

TEST(HttpEventsTest, StockOfVouchersIsSent) {
  const ServedSale served;
  served.publish(7, 10);
  served.publish(8, 10);
  Listener listener(served, "/v1/vouchers/events");
  Event event = listener.next();
  EXPECT_EQ(event.data["vouchers"].size(), 2U);
  EXPECT_NE(served.buy(7, "1"), "");
  event = listener.next();
  ASSERT_EQ(event.data["vouchers"].size(), 1U);
  EXPECT_EQ(event.data["vouchers"][0]["id"], 7);
  EXPECT_EQ(event.data["vouchers"][0]["free"], 9);
  EXPECT_GT(event.data["vouchers"][0]["per_second"], 0.0);
  // It sells no more.
  event = listener.next();
  EXPECT_EQ(event.data["vouchers"][0]["per_second"], 0.0);
}

TEST(HttpEventsTest, StreamBeyondBoundGets503) {
  HttpServerOptions options;
  options.event_streams_max = 1;
  const ServedSale served(options);
  {
    const Listener only(served, "/v1/events");
    EXPECT_EQ(served.call("GET", "/v1/vouchers/events").problem(), "overloaded");
  }
  while (served.call("HEAD", "/v1/vouchers/events").status == 503) continue;
}

TEST(HttpEventsTest, UnreadStreamsDelayNobody) {
  HttpServerOptions options;
  options.transfer_timeout_ms = 200;
  const ServedSale served(options);
  served.publish(7, 1'000, 60'000);
  constexpr int kUnread = 100;
  std::vector<HttpConnection> unread;
  for (int i = 0; i < kUnread; ++i) {
    unread.push_back(served.connect());
    unread.back().send(http_request("GET", "/v1/events"));
  }
  Listener listener(served, "/v1/events");
  const auto ids = cancel_some(served, 20);
  for (const std::string& id : ids) EXPECT_EQ(listener.next().data["order"], id);
  EXPECT_EQ(served.call("GET", "/healthz").status, 200);
}

}  // namespace
}  // namespace rushgate
