// Entries of the order stream have the time by which a script decided.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/entry_time.lua.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/stream_id.h>

namespace rushgate {
namespace {

// ---- Deciding and appending take time ----

/// Lets a script wait for 3 ms after it has read the time, like one on a busy machine. Keeps that time.
/// From Redis 7.2 on, the time stands still while a script runs, so the loop counts, too.
constexpr std::string_view kBusyMachine = R"lua(
local server = redis
local redis = setmetatable({}, {__index = server})
redis.call = function(command, ...)
  local reply = server.call(command, ...)
  if command ~= 'TIME' then return reply end
  server.call('SET', 'decided', string.format('%.0f', reply[1] * 1000 + math.floor(reply[2] / 1000)))
  for _ = 1, 20000 do
    local now = server.call('TIME')
    if (now[1] - reply[1]) * 1000000 + now[2] - reply[2] > 3000 then break end
  end
  return reply
end
)lua";

class DecisionTimeTest : public ThreadedSaleTest {
 protected:
  void SetUp() override {
    Voucher paid = voucher(1, 1);
    paid.payment_ms = 60'000;
    paid.waiting_max = 5;
    ASSERT_TRUE(sale_->publish(paid).ok());
  }

  Reply run_on_busy_machine(const Script& script, const std::vector<std::string>& words) {
    Request request = Request::of("EVAL", concat(kBusyMachine, script.text()));
    for (const std::string& word : words) request.add(word);
    return backend_.client().call(std::move(request));
  }
  /// Returns the number of keys and the keys of a script about the waiting list.
  static std::vector<std::string> waiting_list_keys() {
    const SaleKeys keys;
    return {"9",
            keys.voucher(1),
            keys.stock(1),
            keys.buyers(1),
            keys.days(1),
            keys.deadlines(),
            keys.held(),
            keys.order_stream,
            keys.waiting(1),
            keys.waiting_orders(1)};
  }

  void expect_entry_at_decision() {
    const Reply newest =
        backend_.client()("XREVRANGE", SaleKeys{}.order_stream, "+", "-", "COUNT", 1);
    ASSERT_EQ(newest.elements().size(), 1U) << to_debug_string(newest);
    const auto id = StreamId::parse(newest.elements()[0].elements()[0].text());
    ASSERT_TRUE(id.has_value());
    EXPECT_EQ(std::to_string(id->ms), backend_.client()("GET", "decided").text());
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, DecisionTimeTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

TEST_P(DecisionTimeTest, AdmissionHasItsEntrysTime) {
  const UserId user(7);
  const AdmissionRequests::Buyer buyer{&user, 1'001, {}};
  const Request request =
      AdmissionRequests(backend_.client(), SaleKeys{}, 1).make({1}, {&buyer, 1});
  std::vector<std::string> words;
  for (std::size_t i = 2; i < request.size(); ++i) words.emplace_back(request[i]);

  ASSERT_EQ(run_on_busy_machine(admission_script(), words), Reply::integer(0));

  expect_entry_at_decision();
}

TEST_P(DecisionTimeTest, CancellationHasItsEntrysTime) {
  const BuyResult bought = sale_->buy(1, 7);
  std::vector<std::string> words = waiting_list_keys();
  for (const std::string& word : {std::string("1"), std::string("0"), std::string("no"),
                                  std::string("user"), concat(bought.order)}) {
    words.push_back(word);
  }

  ASSERT_EQ(run_on_busy_machine(payment_scripts::cancel_serving(), words),
            Reply::array({Reply::array({Reply::integer(payment_scripts::kDone)})}));

  expect_entry_at_decision();
}

TEST_P(DecisionTimeTest, WaitingUserHasEntrysTime) {
  ASSERT_EQ(sale_->buy(1, 7).outcome, Outcome::kAccepted);
  ASSERT_EQ(sale_->wait_for(1, 8).outcome, WaitOutcome::kWaiting);
  backend_.client()("INCR", SaleKeys{}.stock(1));
  std::vector<std::string> words = waiting_list_keys();
  words.emplace_back("1");
  words.emplace_back("256");

  ASSERT_EQ(run_on_busy_machine(payment_scripts::serve_waiting(), words), Reply::integer(1));

  expect_entry_at_decision();
}

// ---- The clock stands still, or is set back ----

class EntryIdTest : public SaleTest {
 protected:
  /// Appends at this time to a stream whose last id is `last`. Returns the entry's id.
  std::string id_after(std::string_view last, std::int64_t now_ms) {
    static const Script kAppend(concat(
        lua::kEntryTime, "return append_entry(KEYS[1], tonumber(ARGV[1]), 'field', 'value')"));
    Client& client = backend_.client();
    client("DEL", "stream");
    if (!last.empty()) {
      EXPECT_FALSE(client("XADD", "stream", last, "field", "value").is_error());
    }
    const std::string_view key = "stream";
    const std::string now = concat(now_ms);
    const std::string_view argument = now;
    return client.run(kAppend, {&key, 1}, {&argument, 1}).text();
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, EntryIdTest, each_backend(), backend_name);

TEST_P(EntryIdTest, IdHasTimeUnlessClockWentBack) {
  const std::int64_t now_ms = backend_.clock().now_ms();

  EXPECT_EQ(id_after("", now_ms), concat(now_ms, "-0"));
  EXPECT_EQ(id_after(concat(now_ms - 1, "-7"), now_ms), concat(now_ms, "-0"));
  EXPECT_EQ(id_after(concat(now_ms, "-7"), now_ms), concat(now_ms, "-8"));
  EXPECT_EQ(id_after(concat(now_ms + 5'000, "-7"), now_ms), concat(now_ms + 5'000, "-8"));
  EXPECT_EQ(id_after(concat(now_ms + 5'000, "-999999999999999"), now_ms),
            concat(now_ms + 5'000, "-1000000000000000"));
}

TEST_P(EntryIdTest, IdsBeyondExactNumbersAscend) {
  const std::int64_t now_ms = backend_.clock().now_ms();

  EXPECT_EQ(id_after(concat(now_ms + 5'000, "-9007199254740993"), now_ms),
            concat(now_ms + 5'000, "-9007199254740994"));
  EXPECT_EQ(id_after(concat(now_ms + 5'000, "-18446744073709551615"), now_ms),
            concat(now_ms + 5'001, "-0"));
  EXPECT_EQ(id_after("9007199254740993-3", now_ms), "9007199254740993-4");
}

}  // namespace
}  // namespace rushgate
