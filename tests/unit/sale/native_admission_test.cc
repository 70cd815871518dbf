// The admission script and its native implementation give equal results for equal inputs. Random
// histories run the script on each backend, and the native implementation on an engine in memory.
// Every reply and key is compared.
#include <algorithm>
#include <random>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "tests/support/sweep.h"
#include "tests/unit/sale/native_sides.h"
#include <rushgate/limits.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

class NativeAdmissionTest : public ::testing::TestWithParam<SaleBackendParam> {};
INSTANTIATE_TEST_SUITE_P(Backends, NativeAdmissionTest, each_backend(), backend_name);

/// Returns a side that runs the Lua script, on the backend under test.
Side lua_side() { return lua_side_on(*NativeAdmissionTest::GetParam()); }

constexpr VoucherId kNativeVouchers = 2;
constexpr int kRequestKeys = 10;

constexpr std::int64_t kFirstUser = -1;
constexpr std::int64_t kNativeUsers = 12;

/// Some users have names.
UserId user_of(std::int64_t number) {
  return number % 5 == 4 ? UserId("user-" + std::to_string(number)) : UserId(number);
}

std::string token_key(VoucherId voucher, const UserId& user) {
  return PurchaseTokens::key_of(SaleKeys{}.purchase_tokens(), user.text(), voucher);
}

std::string idempotency_key(std::int64_t number) { return "key" + std::to_string(number); }

/// Returns the elements sorted, independent of the backend's hash tables.
std::vector<std::string> sorted(const Reply& reply, std::size_t group) {
  std::vector<std::string> groups;
  if (!reply.is_aggregate()) return {to_debug_string(reply)};
  for (std::size_t i = 0; i < reply.elements().size(); i += group) {
    std::string text;
    for (std::size_t k = i; k < i + group; ++k) text += to_debug_string(reply.elements()[k]) + ' ';
    groups.push_back(std::move(text));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::string everything(Client& client) {
  const SaleKeys keys;
  std::vector<Request> requests;
  for (VoucherId voucher = 1; voucher <= kNativeVouchers; ++voucher) {
    requests.push_back(Request::of("HGETALL", keys.voucher(voucher)));
    requests.push_back(Request::of("HGETALL", keys.days(voucher)));
    requests.push_back(Request::of("HGETALL", keys.buyers(voucher)));   // one of these two
    requests.push_back(Request::of("SMEMBERS", keys.buyers(voucher)));  // is an error
    requests.push_back(Request::of("GET", keys.stock(voucher)));
  }
  for (int number = 0; number < kRequestKeys; ++number) {
    requests.push_back(Request::of("GET", keys.request(idempotency_key(number))));
    requests.push_back(Request::of("PTTL", keys.request(idempotency_key(number))));
  }
  for (VoucherId voucher = 1; voucher <= kNativeVouchers; ++voucher) {
    for (std::int64_t number = kFirstUser; number < kFirstUser + kNativeUsers; ++number) {
      requests.push_back(Request::of("GET", token_key(voucher, user_of(number))));
      requests.push_back(Request::of("PTTL", token_key(voucher, user_of(number))));
    }
  }
  requests.push_back(Request::of("HGETALL", keys.held()));
  requests.push_back(Request::of("ZRANGE", keys.deadlines(), 0, -1, "WITHSCORES"));
  requests.push_back(Request::of("XRANGE", keys.order_stream, "-", "+"));
  const std::vector<Reply> replies = client.pipeline(requests);
  std::string all;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const std::size_t group = requests[i][0] == "HGETALL" ? 2 : 1;
    for (const std::string& text : sorted(replies[i], group)) all += text + '\n';
  }
  return all;
}

/// Both sides. Every step does the same to both, and leaves them equal or has failed.
class Implementations {
 public:
  explicit Implementations(std::mt19937_64& random) : random_(random) {
    for (VoucherId id = 1; id <= kNativeVouchers; ++id) publish(id);
  }

  void step() {
    const VoucherId id = 1 + below(kNativeVouchers);
    switch (below(18)) {
      case 0:
        return publish(id);
      case 1:
        return advance();
      case 2:
        return close(id);
      case 16:
      case 17:
        return issue_token(id);
      case 3:
      case 4:
        return admit(id);
      case 5:
      case 6:
      case 7:
        return buy_several();
      default:
        return buy(id);
    }
  }

  void check() {
    ASSERT_EQ(everything(*lua_.client), everything(*native_.client));
    for (Side* const side : {&lua_, &native_}) {
      const auto report = side->sale->audit();
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_EQ(report->problems, std::vector<std::string>{});
    }
  }

  void compare() { ASSERT_EQ(everything(*lua_.client), everything(*native_.client)); }

  /// Takes over abandoned rebuilds, which keep admission closed.
  void reopen() {
    for (Side* const side : {&lua_, &native_}) side->keyspace.advance_ms(60'000);
    for (VoucherId id = 1; id <= kNativeVouchers; ++id) {
      for (Side* const side : {&lua_, &native_}) side->sale->buy(id, 100);
    }
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  void publish(VoucherId id) {
    Voucher voucher;
    voucher.id = id;
    voucher.stock = 5 + below(40);
    voucher.begin_ms = ManualClock::kStartMs + below(3) * 1'000;
    voucher.end_ms = voucher.begin_ms + 1'000 + below(10) * 40'000'000;
    voucher.limits = {.total = below(3) * 10,
                      .per_user = below(4),
                      .per_user_day = below(3),
                      .utc_offset_minutes = static_cast<std::int32_t>(below(1'400)) - 700};
    voucher.price_cents = 1 + below(1'000);
    voucher.payment_ms = below(2) * 30'000;
    voucher.needs_token = below(3) == 0;
    const absl::Status first = lua_.sale->publish(voucher);
    ASSERT_EQ(first, native_.sale->publish(voucher));
  }

  void advance() {
    const std::int64_t duration_ms = below(2) == 0 ? below(2'000) : below(50'000'000);
    lua_.keyspace.advance_ms(duration_ms);
    native_.keyspace.advance_ms(duration_ms);
  }

  /// Closes admission like a process that is killed in a rebuild.
  void close(VoucherId id) {
    const std::string now = std::to_string(lua_.keyspace.clock().now_ms());
    for (Side* const side : {&lua_, &native_}) {
      (*side->client)("HSET", SaleKeys{}.voucher(id), "closed", "somebody:1", "closed_at", now,
                      "closed_run", "");
    }
  }

  /// Runs the script alone, without the sale's reaction to its reply. Closed vouchers stay closed.
  void admit(VoucherId id) {
    const UserId user = pick_user();
    const std::string key = below(2) == 0 ? idempotency_key(below(kRequestKeys)) : std::string();
    const OrderId order = 1'000'000 + ++admitted_;
    const std::int64_t quantity = 1 + below(6) / 4;
    const std::string reference = below(4) == 0 ? "a reference" : "";
    const std::string token = pick_token();
    const auto run = [&](Side& side) {
      const Request request =
          AdmissionRequests(*side.client, SaleKeys{}, 40'000'000)
              .make({.voucher = id, .quantity = quantity, .reference = reference, .token = token},
                    std::vector<AdmissionRequests::Buyer>{{&user, order, key}});
      return side.client->run_all(admission_script(), {&request, 1}).front();
    };
    ASSERT_EQ(run(lua_), run(native_));
  }

  void buy(VoucherId id) {
    const UserId user = pick_user();
    const std::string key = below(3) == 0 ? idempotency_key(below(kRequestKeys)) : std::string();
    const BuyRequest request{
        .voucher = id, .user = user, .idempotency_key = key, .purchase_token = pick_token()};
    const BuyResult first = lua_.sale->buy(request);
    const BuyResult second = native_.sale->buy(request);
    ASSERT_EQ(outcome_name(first.outcome), outcome_name(second.outcome));
    ASSERT_EQ(first.order, second.order);
  }

  /// Neighbours may have the same voucher, user or idempotency key.
  void buy_several() {
    std::vector<BuyRequest> requests(static_cast<std::size_t>(1 + below(8)));
    for (BuyRequest& request : requests) {
      request = {.voucher = 1 + below(3) / 2, .user = pick_user()};
      if (below(4) == 0) request.quantity = 2;
      if (below(3) == 0) request.idempotency_key = idempotency_key(below(kRequestKeys));
      if (below(4) == 0) request.purchase_token = pick_token();
    }
    const auto first = lua_.sale->buy_all(requests);
    const auto second = native_.sale->buy_all(requests);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(outcome_name(first[i].outcome), outcome_name(second[i].outcome)) << i;
      ASSERT_EQ(first[i].order, second[i].order) << i;
    }
  }

  void issue_token(VoucherId id) {
    const std::string key = token_key(id, pick_user());
    for (Side* const side : {&lua_, &native_}) {
      (*side->client)("SET", key, "token", "PX", 20'000'000);
    }
  }

  UserId pick_user() { return user_of(kFirstUser + below(kNativeUsers)); }
  /// Returns the users' token, another one, or none.
  std::string pick_token() {
    const std::int64_t kind = below(4);
    return kind == 0 ? "" : kind == 1 ? "wrong" : "token";
  }

  std::mt19937_64& random_;
  Side lua_ = lua_side();
  Side native_ = native_side();
  OrderId admitted_ = 0;
};

TEST_P(NativeAdmissionTest, ScriptAndNativeAgreeOnRandomHistories) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const int histories = testing::is_full_run() ? 30 : 10;
  for (int history = 0; history < histories; ++history) {
    Implementations both(random);
    for (int step = 0; step < 150; ++step) {
      SCOPED_TRACE("history " + std::to_string(history) + " step " + std::to_string(step));
      both.step();
      both.compare();
      if (::testing::Test::HasFatalFailure()) return;
    }
    both.reopen();
    both.check();
  }
}

TEST_P(NativeAdmissionTest, FailureForOneBuyerIsItsReplyAlone) {
  Side lua = lua_side();
  Side native = native_side();
  for (Side* const side : {&lua, &native}) {
    side->publish(10, {.per_user = 3});
    (*side->client)("HSET", SaleKeys{}.buyers(1), 2, "many");  // not a number
    const auto results = side->sale->buy_all(std::vector<BuyRequest>{
        {.voucher = 1, .user = 1}, {.voucher = 1, .user = 2}, {.voucher = 1, .user = 3}});
    EXPECT_EQ(results[0].outcome, Outcome::kAccepted);
    EXPECT_EQ(results[1].outcome, Outcome::kFailed);
    EXPECT_EQ(results[2].outcome, Outcome::kAccepted);
    EXPECT_EQ((*side->client)("GET", SaleKeys{}.stock(1)), Reply::bulk("8"));
    EXPECT_EQ((*side->client)("XLEN", SaleKeys{}.order_stream), Reply::integer(2));
  }
}

TEST_P(NativeAdmissionTest, SharedFailureIsSameForEach) {
  const SaleKeys keys;
  const std::vector<Request> spoilers = {
      Request::of("SET", keys.buyers(1), "text"),
      Request::of("SET", keys.order_stream, "text"),
      Request::of("SET", keys.stock(1), "text"),
  };
  for (const Request& spoiler : spoilers) {
    SCOPED_TRACE(std::string(spoiler[1]));
    Side lua = lua_side();
    Side native = native_side();
    for (Side* const side : {&lua, &native}) {
      side->publish(5);
      (*side->client)("DEL", spoiler[1]);
      ASSERT_FALSE(side->client->call(spoiler).is_error());
      const std::string before = everything(*side->client);
      const auto results = side->sale->buy_all(std::vector<BuyRequest>{
          {.voucher = 1, .user = 1}, {.voucher = 1, .user = 2}, {.voucher = 1, .user = 1}});
      for (const BuyResult& result : results) EXPECT_EQ(result.outcome, Outcome::kFailed);
      EXPECT_EQ(everything(*side->client), before);
    }
    EXPECT_EQ(everything(*lua.client), everything(*native.client));
  }
}

TEST_P(NativeAdmissionTest, BatchIsDecidedInOrderUntilSoldOut) {
  using enum Outcome;
  struct Case {
    const char* name;
    std::int64_t stock;
    std::int64_t total;
    std::vector<std::int64_t> users;
    std::vector<Outcome> outcomes;
  };
  const Case cases[] = {
      {"stock",
       2,
       0,
       {1, 1, 2, 2, 3, 1},
       {kAccepted, kLimitReached, kAccepted, kSoldOut, kSoldOut, kSoldOut}},
      {"total",
       9,
       2,
       {1, 1, 2, 2, 3, 1},
       {kAccepted, kLimitReached, kAccepted, kSoldOut, kSoldOut, kSoldOut}},
      {"enough", 9, 3, {5, 5, 6, 7}, {kAccepted, kLimitReached, kAccepted, kAccepted}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Side lua = lua_side();
    Side native = native_side();
    for (Side* const side : {&lua, &native}) {
      side->publish(one.stock, {.total = one.total});
      std::vector<BuyRequest> requests;
      for (const std::int64_t user : one.users) requests.push_back({.voucher = 1, .user = user});
      std::vector<Outcome> outcomes;
      for (const BuyResult& result : side->sale->buy_all(requests)) {
        outcomes.push_back(result.outcome);
      }
      EXPECT_EQ(outcomes, one.outcomes);
    }
    EXPECT_EQ(everything(*lua.client), everything(*native.client));
  }
}

TEST_P(NativeAdmissionTest, NegativeTotalIsNoLimit) {
  Side lua = lua_side();
  Side native = native_side();
  for (Side* const side : {&lua, &native}) {
    side->publish(5);
    (*side->client)("HSET", SaleKeys{}.voucher(1), "total", -1);
    const auto results = side->sale->buy_all(
        std::vector<BuyRequest>{{.voucher = 1, .user = 1}, {.voucher = 1, .user = 2}});
    for (const BuyResult& result : results) EXPECT_EQ(result.outcome, Outcome::kAccepted);
  }
  EXPECT_EQ(everything(*lua.client), everything(*native.client));
}

TEST(NativeAdmissionTest, CallWithoutKeysIsRefused) {
  Side native = native_side();
  Client& client = *native.client;
  for (const Request& request :
       {Request::of("FCALL", kNativeAdmission, 0),
        Request::of("FCALL", kNativeAdmission, 4, 1, 2, 3, 4, 5, 6, 7, 8),
        Request::of("FCALL", kNativeAdmission, 7, 1, 2, 3, 4, 5, 6, 7, "voucher", "", "user")}) {
    EXPECT_EQ(
        client.call(request),
        Reply::error("ERR admission needs seven keys, and two arguments before the first user's"));
  }
}

// Both implementations read the held orders, and refuse the same values.
TEST_P(NativeAdmissionTest, MalformedHeldOrdersAreRefused) {
  Side lua = lua_side();
  Side native = native_side();
  const std::string held = SaleKeys{}.held();
  const std::string_view names[] = {held};
  const std::string_view orders[] = {"7301", "7302"};
  for (const std::string_view value :
       {"1", "1 5", "x 5 1 2 3\n", "1 -5 1 2 3\n", "1 0 \n", "1 5 1 2 3", "1 6 1 2 3\n",
        "1 3 1 2\n", "1 5 1 2 =\n", "1 5 1 2 3x", "1 5 1 2 3\n1 5 1 2 3\n", "1 5 1 2 3\n"}) {
    std::vector<Reply> replies;
    for (Side* const side : {&lua, &native}) {
      (*side->client)("HSET", held, "730", value);
      replies.push_back(side->client->run(payment_scripts::remove_held(), names, orders));
    }
    EXPECT_EQ(replies[0].is_error(), replies[1].is_error()) << value;
    EXPECT_EQ(replies[0].is_error(), value != "1 5 1 2 3\n") << value;
    if (replies[0].is_error()) continue;
    EXPECT_EQ(replies[0], replies[1]);
  }
}

// Purchases send ids that are positive.
TEST_P(NativeAdmissionTest, NegativeIdOfUnpaidOrderIsRefused) {
  Side lua = lua_side();
  Side native = native_side();
  const UserId users[] = {7, 8, 9};
  for (Side* const side : {&lua, &native}) {
    const Voucher voucher{.id = 1,
                          .stock = 5,
                          .end_ms = ManualClock::kStartMs + 1'000,
                          .price_cents = 100,
                          .payment_ms = 1'000};
    ASSERT_EQ(side->sale->publish(voucher), absl::OkStatus());
    const Request request =
        AdmissionRequests(*side->client, SaleKeys{}, 1)
            .make({1},
                  std::vector<AdmissionRequests::Buyer>{
                      {&users[0], 1'001, {}}, {&users[1], -1'002, {}}, {&users[2], 1'003, {}}});
    const Reply reply = side->client->run_all(admission_script(), {&request, 1}).front();
    ASSERT_EQ(reply.elements().size(), 3U) << to_debug_string(reply);
    EXPECT_EQ(reply.elements()[0], Reply::integer(0));
    EXPECT_THAT(reply.elements()[1].text(), ::testing::HasSubstr("an order id is a number"));
    EXPECT_EQ(reply.elements()[2], Reply::integer(0));
  }
  EXPECT_EQ(everything(*lua.client), everything(*native.client));
}

TEST_P(NativeAdmissionTest, UserNamedByStringIsAllowed) {
  Side lua = lua_side();
  Side native = native_side();
  const UserId seven(7);
  for (Side* const side : {&lua, &native}) {
    side->publish(2);
    Request request = AdmissionRequests(*side->client, SaleKeys{}, 1)
                          .make({1}, std::vector<AdmissionRequests::Buyer>{{&seven, 1'001, {}}});
    for (const char* text : {"ada", "1002", "7", "1003", "08", "x", "9", "1005"}) request.add(text);
    const Reply answer = side->client->run_all(admission_script(), {&request, 1}).front();
    EXPECT_EQ(answer, Reply::array({Reply::integer(0), Reply::integer(0), Reply::integer(1),
                                    Reply::integer(1), Reply::integer(1)}));
  }
  EXPECT_EQ(everything(*lua.client), everything(*native.client));
}

TEST_P(NativeAdmissionTest, BothReportMissingStockOfUnknownVoucher) {
  Side lua = lua_side();
  Side native = native_side();
  for (Side* const side : {&lua, &native}) {
    constexpr VoucherId kNotRecorded = 2;
    side->publish(5);
    Client& client = *side->client;
    ASSERT_EQ(client("COPY", SaleKeys{}.voucher(1), SaleKeys{}.voucher(kNotRecorded)),
              Reply::integer(1));
    const UserId user(7);
    const AdmissionRequests::Buyer buyer{&user, 1'001, {}};
    const Request request =
        AdmissionRequests(client, SaleKeys{}, 1).make({kNotRecorded}, {&buyer, 1});
    const Reply answer = client.run_all(admission_script(), {&request, 1}).front();
    EXPECT_EQ(answer, Reply::integer(static_cast<int>(AdmissionCode::kStockMissing)));
    EXPECT_EQ(side->sale->buy(kNotRecorded, 7).outcome, Outcome::kUnknownVoucher);
  }
}

TEST(NativeAdmissionTest, UnreadableTermsAffectOnlyTheirVoucher) {
  Side side = native_side();
  const auto publish = [&](VoucherId id, std::int64_t begin_ms) {
    ASSERT_TRUE(side.sale
                    ->publish({.id = id,
                               .title = "",
                               .stock = 5,
                               .begin_ms = begin_ms,
                               .end_ms = ManualClock::kStartMs + 2'000})
                    .ok());
  };
  publish(1, ManualClock::kStartMs);
  // The native implementation caches the terms of some vouchers by the hash of their id. Among this
  // many following vouchers, one has the same slot as the first.
  constexpr VoucherId kOthers = 200;
  for (VoucherId id = 2; id < 2 + kOthers; ++id) {
    publish(id, ManualClock::kStartMs + 1'000);
    (*side.client)("HSET", SaleKeys{}.voucher(id), "end", "no number");
  }
  std::int64_t user = 0;
  EXPECT_EQ(side.sale->buy(1, ++user).outcome, Outcome::kAccepted);
  for (VoucherId id = 2; id < 2 + kOthers; ++id) {
    EXPECT_EQ(side.sale->buy(id, 1).outcome, Outcome::kFailed);
    ASSERT_EQ(side.sale->buy(1, 1).outcome, Outcome::kLimitReached) << "after voucher " << id;
  }
}

TEST_P(NativeAdmissionTest, NativeScriptRunsWhereRegisteredElseLua) {
  Side lua = lua_side();
  Side native = native_side();
  const AdmissionRequests on_lua(*lua.client, SaleKeys{}, 1);
  const AdmissionRequests on_native(*native.client, SaleKeys{}, 1);
  const UserId user(2);
  const AdmissionRequests::Buyer buyer{&user, 3, {}};
  EXPECT_EQ(on_lua.make({1}, {&buyer, 1})[0], "EVALSHA");
  EXPECT_EQ(on_native.make({1}, {&buyer, 1})[0], "FCALL");
}

}  // namespace
}  // namespace rushgate
