// A sale that shares its keys with another system: its script, consumers and group. Nothing of that
// system is reset, and its buyers count.
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/consumers.h"
#include "tests/conformance/field_scripts/field_scripts.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SharingTest : public SaleTest {
 protected:
  /// Buys through the other system, with ids from the same counter.
  std::int64_t buy_elsewhere(VoucherId voucher, std::int64_t user) {
    const std::string counter = "icr:order:" + std::string(day_);
    const std::int64_t drawn = backend_.client()("INCR", counter).integer();
    const OrderId order = kOrderIdLayout.make(seconds_, drawn);
    return backend_.client()("EVAL", testing::kAdmissionBuildingKeys, 0, voucher, user, order)
        .integer();
  }

  /// Returns how many entries `consumer` gets from the group.
  std::size_t read_elsewhere(std::string_view consumer, int count) {
    const Reply read = backend_.client()("XREADGROUP", "GROUP", "g1", consumer, "COUNT", count,
                                         "STREAMS", "stream.orders", ">");
    if (!read.is_aggregate() || read.elements().empty()) return 0;
    return read.elements()[0].elements()[1].elements().size();
  }

  std::string everything_of(std::initializer_list<Request> questions) {
    std::string all;
    for (const Request& question : questions) {
      all += to_debug_string(backend_.client().call(question)) + '\n';
    }
    return all;
  }

  std::set<UserId> users_with_orders(VoucherId voucher) {
    std::set<UserId> users;
    EXPECT_TRUE(for_each_order(backend_.orders(), {.voucher = voucher}, [&](const Order& order) {
                  EXPECT_TRUE(users.insert(order.user).second) << order.user;
                }).ok());
    return users;
  }

  // The day of the other system's ids. It is never today, so its counter is separate.
  static constexpr std::int64_t kDay = 20'000;  // since 1970: 2024-10-04
  const std::string_view day_ = "20241004";
  const std::int64_t seconds_ = kDay * IdLayout::kDaySeconds;
};
/// With lanes, nothing is adopted.
INSTANTIATE_TEST_SUITE_P(Backends, SharingTest, each_backend_without_lanes(), backend_name);

TEST_P(SharingTest, ForeignScriptSharesStock) {
  constexpr std::int64_t kStock = 60;
  constexpr std::int64_t kUsers = 100;
  ASSERT_TRUE(sale_->publish(voucher(1, kStock, {.per_user = 1})).ok());
  std::mt19937_64 random(random_seed());
  std::set<UserId> accepted;
  bool is_sold_out = false;
  while (!is_sold_out) {
    const std::int64_t user = 1 + static_cast<std::int64_t>(random() % kUsers);
    const bool is_theirs = random() % 2 == 0;
    const std::int64_t theirs = is_theirs ? buy_elsewhere(1, user) : 0;
    const Outcome ours = is_theirs ? Outcome::kAccepted : buy(1, user);
    is_sold_out = theirs == 1 || ours == Outcome::kSoldOut;
    if (is_sold_out) break;
    const bool was_refused = theirs == 2 || ours == Outcome::kLimitReached;
    ASSERT_EQ(was_refused, accepted.contains(user)) << theirs << ' ' << outcome_name(ours);
    accepted.insert(user);
    if (random() % 20 == 0) drain();
  }
  drain();
  EXPECT_EQ(accepted.size(), kStock);
  EXPECT_EQ(users_with_orders(1), accepted);
  EXPECT_EQ(backend_.client()("GET", "seckill:stock:1"), Reply::bulk("0"));
  expect_audit_passes();
}

TEST_P(SharingTest, ForeignConsumerKeepsEntriesUntilDead) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  drain();  // creates the group
  for (std::int64_t user = 1; user <= 6; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  EXPECT_EQ(read_elsewhere("theirs", 4), 4U);
  std::ostringstream log;
  const auto worker =
      make_worker("c2", {.claim_idle_ms = kHourMs,
                         .logger = std::make_shared<spdlog::logger>(
                             "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log))});
  drain(*worker);
  EXPECT_THAT(users_with_orders(1), ElementsAre(5, 6));
  EXPECT_THAT(log.str(), HasSubstr("theirs"));
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_THAT(report->warnings, Contains(HasSubstr("theirs")));

  // It has been silent for longer than claim_idle_ms.
  const Reply pending =
      backend_.client()("XPENDING", "stream.orders", "g1", "-", "+", 10, "theirs");
  for (const Reply& entry : pending.elements()) {
    backend_.client()("XCLAIM", "stream.orders", "g1", "theirs", 0, entry.elements()[0].text(),
                      "IDLE", 2 * kHourMs, "JUSTID");
  }
  backend_.advance_ms(kHourMs);
  drain(*worker);
  EXPECT_EQ(users_with_orders(1).size(), 6U);
  expect_audit_passes();
}

TEST_P(SharingTest, AuditNamesOrdersAcknowledgedByForeignConsumer) {
  ASSERT_TRUE(sale_->publish(voucher(1, 10)).ok());
  drain();
  EXPECT_EQ(buy(1, 77), Outcome::kAccepted);
  EXPECT_EQ(read_elsewhere("theirs", 1), 1U);
  const Reply pending = backend_.client()("XPENDING", "stream.orders", "g1", "-", "+", 1);
  backend_.client()("XACK", "stream.orders", "g1", pending.elements()[0].elements()[0].text());
  EXPECT_EQ(buy(1, 78), Outcome::kAccepted);
  drain();
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->passed());
  EXPECT_THAT(report->problems, Contains(HasSubstr("user 77")));
  EXPECT_THAT(report->warnings, Contains(HasSubstr("theirs")));
}

TEST_P(SharingTest, JoiningForeignGroupResetsNothing) {
  Client& client = backend_.client();
  client("FLUSHALL");
  client("SET", "seckill:stock:1", 10);
  for (std::int64_t user = 1; user <= 5; ++user) ASSERT_EQ(buy_elsewhere(1, user), 0);
  client("XGROUP", "CREATE", "stream.orders", "g1", "0");
  client("XGROUP", "CREATE", "stream.orders", "analytics", "0");
  ASSERT_EQ(read_elsewhere("c1", 3), 3U);
  // The other system's consumer has stored two of them.
  const Reply pending = client("XPENDING", "stream.orders", "g1", "-", "+", 10);
  for (std::size_t i = 0; i < 2; ++i) {
    client("XACK", "stream.orders", "g1", pending.elements()[i].elements()[0].text());
  }
  const auto theirs = [&] {
    return everything_of({Request::of("GET", "seckill:stock:1"),
                          Request::of("SMEMBERS", "seckill:order:1"),
                          Request::of("XRANGE", "stream.orders", "-", "+"),
                          Request::of("XINFO", "GROUPS", "stream.orders"),
                          Request::of("XPENDING", "stream.orders", "g1"),
                          Request::of("GET", "icr:order:" + std::string(day_))});
  };
  const std::string before = theirs();

  MemoryOrderStore fresh;
  const auto adopting = Sale::open(backend_.keyspace(), fresh, {.adopt = true});
  ASSERT_TRUE(adopting.ok()) << adopting.status();
  ASSERT_TRUE((*adopting)->publish(voucher(1, 10)).ok());
  EXPECT_EQ(theirs(), before);

  OrderWorker worker(backend_.keyspace(), fresh, SaleKeys{},
                     {.consumer = "ours", .claim_idle_ms = kHourMs, .trim = false});
  drain(worker);
  EXPECT_EQ(client("XLEN", "stream.orders"), Reply::integer(5)) << "trimming is off";
  EXPECT_EQ(fresh.count_live(1).value(), 4) << "two adopted, and two that nobody had read";
  const Reply left = client("XPENDING", "stream.orders", "g1", "-", "+", 10);
  ASSERT_EQ(left.elements().size(), 1U) << "its consumer still has it";
  EXPECT_EQ(left.elements()[0].elements()[1], Reply::bulk("c1"));
  EXPECT_EQ((*adopting)->buy(1, 3).outcome, Outcome::kLimitReached);
  EXPECT_EQ((*adopting)->buy(1, 6).outcome, Outcome::kAccepted);
  EXPECT_EQ(client("GET", "seckill:stock:1"), Reply::bulk("4"));
}

/// The other system sells on while ours adopts the voucher.
TEST_P(SharingTest, BuyersDuringAdoptionGetOneOrder) {
  Client& client = backend_.client();
  client("SET", "seckill:stock:1", 50);
  std::int64_t user = 0;
  while (user < 10) EXPECT_EQ(buy_elsewhere(1, ++user), 0);
  client("XTRIM", "stream.orders", "MAXLEN", 0);  // the other system has stored them

  bool is_buying = false;
  HookedBackend hooked(backend_.keyspace(), {.before = [&](const Request& /*request*/) {
                         if (is_buying || user >= 40) return;
                         is_buying = true;
                         if (client("HEXISTS", "seckill:voucher:1", "adopting").integer() == 1) {
                           EXPECT_EQ(buy_elsewhere(1, ++user), 0);
                         }
                         is_buying = false;
                       }});
  const auto sale = *Sale::open(hooked, backend_.orders(), {.adopt = true});
  ASSERT_EQ(sale->publish(voucher(1, 50, {.per_user = 1})), absl::OkStatus());
  EXPECT_GT(user, 12) << "some came meanwhile";
  drain();
  const std::set<UserId> stored = users_with_orders(1);
  EXPECT_EQ(stored.size(), static_cast<std::size_t>(user));
  EXPECT_EQ(client("XLEN", SaleKeys{}.dead_letters()), Reply::integer(0));
}

TEST_P(SharingTest, InterruptedAdoptionCompletesAtOpen) {
  Client& client = backend_.client();
  client("SET", "seckill:stock:1", 5);
  for (std::int64_t user = 1; user <= 3; ++user) EXPECT_EQ(buy_elsewhere(1, user), 0);
  client("XTRIM", "stream.orders", "MAXLEN", 0);
  const Voucher adopted = voucher(1, 5, {.per_user = 1});
  {
    const auto sale = *Sale::open(backend_.keyspace(), backend_.orders(), {.adopt = true});
    backend_.orders().fail_writes(absl::UnavailableError("interrupted"));
    EXPECT_TRUE(absl::IsUnavailable(sale->publish(adopted)));
  }
  backend_.orders().fail_writes(absl::OkStatus());
  const auto sale = *Sale::open(backend_.keyspace(), backend_.orders());
  EXPECT_EQ(users_with_orders(1), (std::set<UserId>{1, 2, 3}));
  EXPECT_EQ(client("HEXISTS", "seckill:voucher:1", "adopting"), Reply::integer(0));
}

}  // namespace
}  // namespace rushgate
