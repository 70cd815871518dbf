// The audit can fail: each kind of error is produced by hand and reported.
#include "engine/sale/audit/audit.h"

#include <functional>
#include <span>
#include <sstream>

#include <gmock/gmock.h>

#include "engine/sale/model/order_entry.h"
#include "engine/sale/model/voucher_terms.h"
#include "tests/support/sweep.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class AuditTest : public SaleTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(sale_->publish(voucher(1, 10, {.per_user = 2})).ok());
    for (std::int64_t user = 1; user <= 4; ++user) EXPECT_EQ(buy(1, user), Outcome::kAccepted);
    worker_->step();
    EXPECT_EQ(buy(1, 5), Outcome::kAccepted);
    expect_audit_passes();
  }
  VoucherAudit expect_passes() {
    const auto report = sale_->audit();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok() || report->vouchers.size() != 1) return {};
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    return report->vouchers.front();
  }

  /// Delivers the next entry to a consumer that ignores it. Returns its id.
  std::string deliver_to_a_stranger() {
    const Reply read = backend_.client()("XREADGROUP", "GROUP", "g1", "stranger", "COUNT", 1,
                                         "STREAMS", "stream.orders", ">");
    return read.elements().at(0).elements().at(1).elements().at(0).elements().at(0).text();
  }

  StreamId last_entry() {
    const Reply last = backend_.client()("XREVRANGE", "stream.orders", "+", "-", "COUNT", 1);
    return *StreamId::parse(last.elements().at(0).elements().at(0).text());
  }

  /// Returns when the keyspace's own time is later than `ms`. Advances a manual clock.
  void wait_until_keyspace_is_past(std::uint64_t ms) {
    while (true) {
      const Reply time = backend_.client()("TIME");
      const auto now_ms = std::stoull(time.elements().at(0).text()) * 1'000 +
                          std::stoull(time.elements().at(1).text()) / 1'000;
      if (now_ms > ms) return;
      backend_.advance_ms(1);
    }
  }

  /// Produces a publication that ended before it was confirmed.
  absl::Status record_and_apply(std::int64_t version, std::int64_t stock) {
    Client& client = backend_.client();
    const std::int64_t before = std::stoll(client("HGET", "seckill:voucher:1", "published").text());
    client("HSET", "seckill:voucher:1", "version", version, "published", stock);
    client("INCRBY", "seckill:stock:1", stock - before);
    return backend_.orders().record_pending(
        {.voucher = voucher(1, stock, {.per_user = 2}), .version = version});
  }

  /// Writes everything that an admission writes, except for the counts of the sale's limits.
  void admit_by_hand(std::int64_t user, OrderId order, VoucherId voucher = 1,
                     std::int64_t limit = 2, const std::string& entry = "*") {
    Client& client = backend_.client();
    const SaleKeys keys;
    client("XADD", keys.order_stream, entry, "userId", user, "voucherId", voucher, "id", order,
           "limit", limit);
    client("DECR", keys.stock(voucher));
    const bool is_counted = client("HGET", keys.voucher(voucher), "counted").text() == "1";
    if (is_counted) {
      client("HINCRBY", keys.buyers(voucher), user, 1);
    } else {
      client("SADD", keys.buyers(voucher), user);
    }
  }

  void expect_no_problem() {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  void expect_problem(const std::string& part) {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->passed());
    EXPECT_THAT(report->problems, ::testing::Contains(::testing::HasSubstr(part)));
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, AuditTest, each_backend(), backend_name);

TEST(AuditReportTest, OutputListsProblemsAndWarnings) {
  std::ostringstream passed;
  passed << AuditReport{};
  EXPECT_EQ(passed.str(), "audit passed\n");
  std::ostringstream failed;
  failed << AuditReport{.vouchers = {}, .problems = {"oversold"}, .warnings = {"a consumer"}};
  EXPECT_EQ(failed.str(), "audit failed\noversold\nwarning: a consumer\n");
}

TEST_P(AuditTest, OrdersAreCountedByPlace) {
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->vouchers.size(), 1U);
  const VoucherAudit& audited = report->vouchers[0];
  EXPECT_EQ(audited.published, 10);
  EXPECT_EQ(audited.free, 5);
  EXPECT_EQ(audited.admitted, 5);
  EXPECT_EQ(audited.created, 4);
  EXPECT_EQ(audited.queued, 1);
  EXPECT_EQ(audited.dead, 0);
}

TEST_P(AuditTest, MissingStockIsNamed) {
  backend_.client()("INCR", "seckill:stock:1");
  expect_problem("published 10 is not free 6 + admitted 5");
}

TEST_P(AuditTest, OversoldVoucherIsNamed) {
  backend_.client()("SET", "seckill:stock:1", "-1");
  expect_problem("oversold");
}

TEST_P(AuditTest, LostOrderIsNamedWithUser) {
  backend_.client()("XTRIM", "stream.orders", "MAXLEN", "0");
  expect_problem("lost: user 5");
}

TEST_P(AuditTest, DoubledOrderIsNamed) {
  const OrderId queued = [&] {
    const Reply entries = backend_.client()("XREVRANGE", "stream.orders", "+", "-", "COUNT", 1);
    return std::stoll(entries.elements()[0].elements()[1].elements()[5].text());
  }();
  backend_.client()("XADD", "stream.orders", "*", "userId", 5, "voucherId", 1, "id", queued,
                    "limit", 2);
  expect_problem("order " + std::to_string(queued) + " is doubled");
}

TEST_P(AuditTest, OrderWithoutAdmissionIsNamedWithUser) {
  backend_.client()("XADD", "stream.orders", "*", "userId", 99, "voucherId", 1, "id", 4242, "limit",
                    2);
  expect_problem("user 99 has 1 pieces and was admitted 0 times");
}

TEST_P(AuditTest, UserAboveLimitIsNamed) {
  for (int i = 0; i < 3; ++i) {
    backend_.client()("XADD", "stream.orders", "*", "userId", 77, "voucherId", 1, "id", 5'000 + i,
                      "limit", 2);
  }
  expect_problem("user 77 has 3 pieces, above the limit of 2 per user");
}

TEST_P(AuditTest, OrderMovedBetweenUsersIsNamed) {
  backend_.client()("HSET", "seckill:order:1", "1", "0");
  backend_.client()("HSET", "seckill:order:1", "2", "2");
  expect_problem("lost: user 2 was admitted 2 times and has 1 pieces");
  expect_problem("user 1 has 1 pieces and was admitted 0 times");
}

TEST_P(AuditTest, VoucherLostByKeyspaceIsNamed) {
  backend_.client()("DEL", "seckill:stock:1");
  expect_problem("lost it");
}

TEST_P(AuditTest, UnrecordedVersionInForceIsNamed) {
  backend_.client()("HSET", "seckill:voucher:1", "version", "9");
  expect_problem("version 9");
}

TEST_P(AuditTest, OtherTermsInForceAreNamed) {
  backend_.client()("HSET", "seckill:voucher:1", "per_user", 5, "total", 9);
  expect_problem(
      "version 1 is in force with other terms than the recorded ones: total limit 9 there, 0 here; "
      "limit per user 5 there, 2 here");
}

TEST_P(AuditTest, OrdersBeyondStockAreOversold) {
  for (std::int64_t user = 100; user < 108; ++user) admit_by_hand(user, 10'000 + user);
  backend_.client()("SET", "seckill:stock:1", 0);
  expect_problem("oversold: 13 pieces of a stock of 10");
}

TEST_P(AuditTest, BuyersOfAllBatchesAreCompared) {
  constexpr std::int64_t kBuyers = 2'500;  // the batch size is 1,000
  ASSERT_TRUE(sale_->publish(voucher(1, kBuyers + 5, {.per_user = 2})).ok());
  for (std::int64_t user = 100; user < 100 + kBuyers; ++user)
    EXPECT_EQ(buy(1, user), Outcome::kAccepted);
  EXPECT_EQ(expect_passes().admitted, kBuyers + 5);
  backend_.client()("HSET", "seckill:order:1", 100 + kBuyers - 1, 2);
  expect_problem("lost: user 2599 was admitted 2 times and has 1 pieces");
}

// ---- Rules of the admission ----

TEST_P(AuditTest, OrderOutsideWindowIsNamed) {
  constexpr std::int64_t kOneDayMs = 24 * 60 * 60 * 1'000;
  Voucher later = voucher(1, 10, {.per_user = 2});
  later.begin_ms = backend_.clock().now_ms() + kOneDayMs;
  later.end_ms = later.begin_ms + kOneDayMs;
  later.id = 2;
  ASSERT_TRUE(sale_->publish(later).ok());
  EXPECT_EQ(buy(2, 7), Outcome::kNotStarted);
  expect_no_problem();
  admit_by_hand(7, 4'242, 2);
  expect_problem("voucher 2: order 4242 of user 7 was admitted at");
}

TEST_P(AuditTest, OrderAfterEndIsNamed) {
  ASSERT_TRUE(sale_->close(1).ok());
  expect_no_problem();  // the orders belong to the earlier version
  Voucher ended = voucher(2, 10);
  ended.begin_ms = 1;
  ended.end_ms = 2;
  ASSERT_TRUE(sale_->publish(ended).ok());
  wait_until_keyspace_is_past(last_entry().ms);  // the next entry then has its time of admission
  admit_by_hand(7, 4'242, 2);
  expect_problem("voucher 2: order 4242 of user 7 was admitted at");
}

TEST_P(AuditTest, OrdersAboveTotalLimitAreNamed) {
  ASSERT_TRUE(sale_->publish(voucher(2, 10, {.total = 2})).ok());
  for (std::int64_t user = 1; user <= 2; ++user) EXPECT_EQ(buy(2, user), Outcome::kAccepted);
  EXPECT_EQ(buy(2, 3), Outcome::kSoldOut);
  expect_no_problem();
  admit_by_hand(3, 4'242, 2);
  backend_.client()("HINCRBY", "seckill:voucher:2", "admitted", 1);
  expect_problem("voucher 2: 3 pieces are above the limit of 2 for the whole sale");
}

TEST_P(AuditTest, WrongTotalCountIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(2, 10, {.total = 5})).ok());
  for (std::int64_t user = 1; user <= 2; ++user) EXPECT_EQ(buy(2, user), Outcome::kAccepted);
  backend_.client()("HINCRBY", "seckill:voucher:2", "admitted", -1);
  expect_problem("count for the limit of the sale is 1, and 2 pieces are sold");
  backend_.client()("HDEL", "seckill:voucher:2", "admitted");
  expect_problem("count for the limit of the sale is missing");
}

TEST_P(AuditTest, OrdersAboveDayLimitAreNamed) {
  ASSERT_TRUE(sale_->publish(voucher(2, 10, {.per_user = 5, .per_user_day = 1})).ok());
  EXPECT_EQ(buy(2, 7), Outcome::kAccepted);
  expect_no_problem();
  // The same millisecond as the previous entry, so the same day.
  admit_by_hand(7, 4'242, 2, 5, std::to_string(last_entry().ms) + "-*");
  expect_problem("voucher 2: user 7 has 2 pieces of one day, above the limit of 1 per day");
}

TEST_P(AuditTest, OrdersUnderEarlierLimitsPass) {
  ASSERT_TRUE(sale_->publish(voucher(2, 10, {.total = 5, .per_user = 5})).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(buy(2, 7), Outcome::kAccepted);
  const Limits tighter{.total = 3, .per_user = 5, .per_user_day = 1};
  ASSERT_TRUE(sale_->publish(voucher(2, 10, tighter)).ok());
  expect_no_problem();
}

// ---- Vouchers that one side knows ----

TEST_P(AuditTest, VoucherLostByDatabaseIsNamed) {
  MemoryOrderStore empty;
  for (const bool is_rebuilt : {false, true}) {
    if (is_rebuilt) {
      backend_.client()("FLUSHALL");
      EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
    }
    const auto report = audit(backend_.client(), empty, SaleKeys{});
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->vouchers.size(), 1U);
    EXPECT_EQ(report->vouchers[0].voucher, 1);
    EXPECT_THAT(report->problems,
                ::testing::Contains("voucher 1 is on sale and the database does not know it"));
  }
}

TEST_P(AuditTest, UnsoldVoucherLostByDatabaseIsNamed) {
  ASSERT_TRUE(sale_->publish(voucher(7, 3)).ok());
  MemoryOrderStore empty;
  const auto report = audit(backend_.client(), empty, SaleKeys{});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->vouchers.size(), 2U);
  EXPECT_THAT(report->problems,
              ::testing::Contains("voucher 7 is on sale and the database does not know it"));
}

TEST_P(AuditTest, OrderOfUnknownVoucherIsNamed) {
  constexpr const char* kProblem = "voucher 9: order 4242 of user 5 is of an unknown voucher";
  backend_.client()("XADD", "stream.orders", "*", "userId", 5, "voucherId", 9, "id", 4242, "limit",
                    1);
  expect_problem(kProblem);  // queued
  drain();
  expect_problem(kProblem);  // dead
  const auto letters = sale_->dead_letters();
  ASSERT_TRUE(letters.ok()) << letters.status();
  ASSERT_EQ(letters->size(), 1U);
  EXPECT_EQ(letters->front().reason, "voucher 9 was never published here");
  EXPECT_FALSE(backend_.orders().find(4242)->has_value());
}

TEST_P(AuditTest, VoucherNeverInForceIsNotAudited) {
  backend_.client()("SADD", "seckill:vouchers", 8);
  EXPECT_EQ(expect_passes().voucher, 1);
}

TEST_P(AuditTest, InvalidVoucherIdIsNamed) {
  backend_.client()("SADD", "seckill:vouchers", "eight");
  const auto report = sale_->audit();
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(std::string(report.status().message()), ::testing::HasSubstr("seckill:vouchers"));
}

// ---- Orders between the stream and the database ----

TEST_P(AuditTest, ForeignConsumerIsReported) {
  EXPECT_THAT(sale_->audit()->warnings, ::testing::IsEmpty());
  deliver_to_a_stranger();
  const auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed());
  EXPECT_THAT(report->warnings, ::testing::ElementsAre(::testing::HasSubstr(
                                    "stranger reads stream.orders in the workers' group g1 and is "
                                    "no worker of this sale (1 entries pending)")));
}

TEST_P(AuditTest, PendingOrderIsQueued) {
  deliver_to_a_stranger();
  const VoucherAudit audited = expect_passes();
  EXPECT_EQ(audited.created, 4);
  EXPECT_EQ(audited.queued, 1);
}

TEST_P(AuditTest, AcknowledgedUnstoredOrderIsNamedWithEntry) {
  const std::string entry = deliver_to_a_stranger();
  backend_.client()("XACK", "stream.orders", "g1", entry);
  expect_problem("of user 5 is acknowledged but not stored (entry " + entry + ")");
  expect_problem("lost: user 5 was admitted 1 times and has 0 pieces");
}

TEST_P(AuditTest, OrderOfDeletedConsumerIsNamed) {
  const std::string entry = deliver_to_a_stranger();
  backend_.client()("XGROUP", "DELCONSUMER", "stream.orders", "g1", "stranger");
  expect_problem("of user 5 is acknowledged but not stored (entry " + entry + ")");
}

TEST_P(AuditTest, OrderOfDestroyedGroupIsQueued) {
  deliver_to_a_stranger();
  backend_.client()("XGROUP", "DESTROY", "stream.orders", "g1");
  EXPECT_EQ(expect_passes().queued, 1);
}

TEST_P(AuditTest, LostStoredOrderIsNamedByItsEntry) {
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");  // prevents trimming
  drain();
  expect_passes();
  const Reply entries = backend_.client()("XRANGE", "stream.orders", "-", "+");
  const auto order = read_order(*read_entry(entries.elements().back()));
  ASSERT_TRUE(order.ok()) << order.status();
  // An order that the database never had, of a voucher that it knows.
  backend_.client()("XADD", "stream.orders", "*", "userId", 5, "voucherId", 1, "id", order->id + 1,
                    "limit", 2);
  backend_.client()("HINCRBY", "seckill:order:1", 5, 1);
  backend_.client()("DECR", "seckill:stock:1");
  EXPECT_EQ(expect_passes().queued, 1);
  const std::string entry = deliver_to_a_stranger();
  backend_.client()("XACK", "stream.orders", "g1", entry);
  expect_problem("order " + std::to_string(order->id + 1) + " of user 5 is acknowledged");
}

TEST_P(AuditTest, RetriedDeadOrderIsInOnePlace) {
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");  // prevents trimming
  backend_.orders().poison([](const Order& order) { return order.user == 5; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  const VoucherAudit dead = expect_passes();
  EXPECT_EQ(dead.dead, 1);
  EXPECT_EQ(dead.queued, 0);

  backend_.orders().poison(nullptr);
  const auto letters = sale_->dead_letters();
  ASSERT_TRUE(letters.ok());
  EXPECT_TRUE(*sale_->retry_dead_letter(letters->front().id));
  const VoucherAudit retried = expect_passes();
  EXPECT_EQ(retried.dead, 0);
  EXPECT_EQ(retried.queued, 1);

  drain();
  EXPECT_EQ(expect_passes().created, 5);
}

TEST_P(AuditTest, OrderMovingBetweenReadsIsNoProblem) {
  ASSERT_TRUE(sale_->publish(voucher(1, 1'000, {.per_user = 2})).ok());
  const auto store = [this] { drain(); };
  const auto die = [this] {
    backend_.orders().poison([](const Order&) { return true; },
                             faults::FaultyOrderStore::Poison::kIsRefused);
    drain();
    backend_.orders().poison(nullptr);
  };
  const auto retry = [this] {
    const auto letters = sale_->dead_letters();
    ASSERT_TRUE(letters.ok()) << letters.status();
    for (const DeadLetter& letter : *letters) EXPECT_TRUE(*sale_->retry_dead_letter(letter.id));
  };
  std::int64_t user = 100;
  const auto buy_another = [&] { EXPECT_EQ(buy(1, ++user), Outcome::kAccepted); };
  const std::function<void()> moves[] = {store,
                                         die,
                                         [&] { die(), retry(); },
                                         [&] { retry(), die(); },
                                         [&] { die(), retry(), store(); },
                                         [&] { retry(), store(); },
                                         buy_another};
  for (const bool keeps_entries : {false, true}) {
    if (keeps_entries) backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");
    for (std::size_t move = 0; move < std::size(moves); ++move) {
      testing::Sweep requests_of_audit(/*share=*/3);
      SCOPED_TRACE(requests_of_audit.seed_text());
      int nth = 0;
      bool was_called = true;
      while (was_called && !HasFailure()) {
        nth = requests_of_audit.next();
        SCOPED_TRACE("move " + std::to_string(move) + " before request " + std::to_string(nth));
        buy_another();
        int requests = 0;
        HookedClient client(backend_.keyspace().open_client(), {.before = [&](const Request&) {
                              if (++requests == nth) moves[move]();
                            }});
        const auto report = audit(client, backend_.orders(), SaleKeys{});
        ASSERT_TRUE(report.ok()) << report.status();
        EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
        const VoucherAudit& audited = report->vouchers.front();
        EXPECT_EQ(audited.created + audited.queued + audited.dead, audited.admitted);
        was_called = requests >= nth;
      }
      EXPECT_GT(nth, 5) << "the audit asks more often";
    }
  }
}

TEST_P(AuditTest, StoredOrdersCountWithoutTheirStream) {
  drain();
  const std::uint64_t last_ms = last_entry().ms;
  backend_.client()("DEL", "stream.orders");
  wait_until_keyspace_is_past(last_ms);
  EXPECT_EQ(expect_passes().created, 5);
  EXPECT_EQ(buy(1, 6), Outcome::kAccepted);
  EXPECT_EQ(expect_passes().queued, 1);
  drain();
  EXPECT_EQ(expect_passes().created, 6);
}

// ---- Publications ----

TEST_P(AuditTest, PendingPublicationInForceIsNoProblem) {
  ASSERT_TRUE(record_and_apply(2, 12).ok());
  const VoucherAudit audited = expect_passes();
  EXPECT_EQ(audited.published, 12);
  EXPECT_EQ(audited.free, 7);
}

TEST_P(AuditTest, PublicationWithOtherStockThanPendingIsNamed) {
  ASSERT_TRUE(record_and_apply(2, 12).ok());
  backend_.client()("HSET", "seckill:voucher:1", "published", "13");
  expect_problem("version 2 with a stock of 13 is in force");
}

TEST_P(AuditTest, PendingFirstPublicationInForceIsAudited) {
  const VoucherVersion version = {.voucher = voucher(2, 3), .version = 1};
  ASSERT_TRUE(backend_.orders().record_pending(version).ok());
  auto report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->vouchers.size(), 1U);
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  Request in_force = Request::of("HSET", "seckill:voucher:2");
  for (const TermField& term : term_fields(version)) {
    in_force.add(term.field);
    in_force.add(term.value);
  }
  backend_.client().call(std::move(in_force));
  backend_.client()("SADD", "seckill:vouchers", 2);
  backend_.client()("SET", "seckill:stock:2", 3);
  report = sale_->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->vouchers.size(), 2U);
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
}

TEST_P(AuditTest, ConcurrentPublicationsAreNoProblem) {
  // Runs before each read of the database, so also between a snapshot and its record.
  std::int64_t stock = 10;
  bool is_publishing = false;
  backend_.orders().before_every_read([&] {
    if (is_publishing || stock == 13) return;
    is_publishing = true;
    EXPECT_TRUE(sale_->publish(voucher(1, ++stock, {.per_user = 2})).ok());
    is_publishing = false;
  });
  const VoucherAudit audited = expect_passes();
  EXPECT_EQ(stock, 13);
  EXPECT_EQ(audited.published, 13);
}

/// The reads of one audit do not grow with the number of vouchers. No reply holds all buyers.
TEST_P(AuditTest, StreamIsReadOnceAndBuyersInBatches) {
  constexpr VoucherId kVouchers = 5;
  constexpr std::int64_t kBuyers = 5'000;
  constexpr std::size_t kReplyMax = 4'000;  // elements; a batch is 1,000 buyers
  std::vector<BuyRequest> requests;
  constexpr VoucherId kFirst = 11;
  for (VoucherId id = kFirst; id < kFirst + kVouchers; ++id) {
    ASSERT_TRUE(sale_->publish(voucher(id, kBuyers, {.per_user = id == kFirst ? 1 : 2})).ok());
  }
  for (std::int64_t user = 1; user <= kBuyers; ++user) {
    requests.push_back({.voucher = kFirst + user % kVouchers, .user = user});
    requests.push_back({.voucher = kFirst, .user = kBuyers + user});
  }
  for (const BuyResult& result : sale_->buy_all(requests)) {
    ASSERT_TRUE(result.outcome == Outcome::kAccepted || result.outcome == Outcome::kSoldOut)
        << outcome_name(result.outcome) << ' ' << result.detail;
  }
  const auto queued =
      static_cast<std::size_t>(backend_.client()("XLEN", "stream.orders").integer());

  std::size_t entries_read = 0;
  std::size_t greatest_reply = 0;
  HookedBackend counting(backend_.keyspace(),
                         {.after = [&](const Request& request, const Reply& reply) {
                           if (request[0] == "XRANGE") entries_read += reply.elements().size();
                           std::size_t elements = reply.elements().size();
                           for (const Reply& part : reply.elements()) {
                             elements = std::max(elements, part.elements().size());
                           }
                           greatest_reply = std::max(greatest_reply, elements);
                         }});
  const auto sale = *Sale::open(counting, backend_.orders());
  entries_read = 0;
  greatest_reply = 0;
  const auto report = sale->audit();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  EXPECT_GE(entries_read, queued);
  EXPECT_LT(entries_read, 2 * queued);
  EXPECT_LE(greatest_reply, kReplyMax);
}

/// A purchase waits for each script, so none may read all refunds.
TEST_P(AuditTest, RefundsAndDaysAreReadInBatches) {
  constexpr std::size_t kElements = 4'000;
  constexpr int kFields = 3'000;
  Client& client = backend_.client();
  const SaleKeys keys;
  for (const std::string& key : {keys.refunds(1), keys.days(1), keys.payments(), keys.held()}) {
    Request fill = Request::of("HSET", key);
    for (int i = 1; i <= kFields; ++i) {
      fill.add(i);
      fill.add(key == keys.held() ? "" : "1");
    }
    ASSERT_EQ(client.call(std::move(fill)), Reply::integer(kFields));
  }
  std::size_t greatest_reply = 0;
  const std::function<void(const Reply&)> count = [&](const Reply& reply) {
    greatest_reply = std::max(greatest_reply, reply.elements().size());
    for (const Reply& part : reply.elements()) count(part);
  };
  HookedClient counting(backend_.keyspace().open_client(),
                        {.after = [&](const Request&, const Reply& reply) { count(reply); }});
  EXPECT_FALSE(audit(counting, backend_.orders(), keys)->passed());
  EXPECT_GT(greatest_reply, 1'000U);
  EXPECT_LE(greatest_reply, kElements);
}

}  // namespace
}  // namespace rushgate
