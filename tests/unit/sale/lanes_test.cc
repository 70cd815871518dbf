// A sale with lanes: each voucher and its orders are on one, and what happens to one lane does not happen
// to the others.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "engine/sale/stores/unknown_vouchers.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/move_sale.h>
#include <rushgate/order_rules.h>
#include <rushgate/purchase_statistics.h>
#include <rushgate/simulated_cluster.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

constexpr int kLanes = 4;

/// Vouchers 4 to 7 are on the lanes 0 to 3.
class LanesTest : public SaleFixture, public ::testing::WithParamInterface<SaleBackendParam> {
 protected:
  explicit LanesTest(int lanes = kLanes)
      : SaleFixture(*GetParam(), TestTime::kManual, {.lanes = lanes}) {}

  void publish_all(const Limits& limits = {}) {
    for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
      ASSERT_TRUE(sale_->publish(voucher(id, 10, limits)).ok());
    }
  }
  /// Lets a worker of each lane store what it has.
  void store_all() { store_all(*sale_); }
  void store_all(Sale& sale) {
    for (const SaleLane& lane : sale.lanes()) store(lane);
  }
  OrderWorker::Step store(const SaleLane& lane) {
    WorkerOptions options;
    options.consumer = "c1";
    OrderWorker worker(backend_.keyspace(), lane.stores, lane.keys, options);
    OrderWorker::Step all;
    OrderWorker::Step step;
    do {
      step = worker.step();
      all.stored += step.stored;
      all.buried += step.buried;
    } while (step.kind == OrderWorker::Step::Kind::kWorked);
    return all;
  }
  const SaleKeys& keys_of(int lane) { return sale_->lanes()[static_cast<std::size_t>(lane)].keys; }
  std::vector<std::string> all_keys_of(int lane) {
    std::vector<std::string> names;
    const std::string prefix = keys_of(lane).prefix;
    const std::string tag = prefix.substr(0, prefix.find('}') + 1);
    const Reply found = backend_.client()("KEYS", tag + "*");
    for (const Reply& name : found.elements()) names.emplace_back(name.text());
    return names;
  }
  void lose_keys_of(int lane) {
    for (const std::string& key : all_keys_of(lane)) backend_.client()("DEL", key);
    backend_.advance_ms(1);  // a new stream gives the ids of this millisecond once more
  }
  std::vector<std::int64_t> epochs() {
    std::vector<std::int64_t> epochs;
    for (const SaleLane& lane : sale_->lanes()) {
      epochs.push_back(lane.stores.orders.state().value().epoch);
    }
    return epochs;
  }
  std::optional<std::int64_t> free_of(VoucherId id) { return sale_->summary(id).value()->free; }
  OrderId bought(VoucherId id, std::int64_t user) {
    const BuyResult result = sale_->buy(id, user);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    return result.order;
  }
};

TEST_P(LanesTest, VoucherIsOnItsLaneAlone) {
  publish_all();
  for (int lane = 0; lane < kLanes; ++lane) {
    const VoucherId id = kLanes + lane;
    EXPECT_EQ(backend_.client()("GET", keys_of(lane).stock(id)), Reply::bulk("10"));
    EXPECT_EQ(backend_.client()("SCARD", keys_of(lane).vouchers()), Reply::integer(1));
    EXPECT_EQ(sale_->lane_of(id).value().number, lane);
  }
  EXPECT_EQ(keys_of(0).stock(4),
            backend_.kind().is_cluster ? "{rg:00rp}seckill:stock:4" : "seckill:stock:4");
  EXPECT_EQ(sale_->summaries().value().size(), kLanes);
}

TEST_P(LanesTest, OrdersOfAllLanesAreStoredAndFound) {
  publish_all();
  std::set<OrderId> orders;
  for (int lane = 0; lane < kLanes; ++lane) {
    const OrderId order = bought(kLanes + lane, 17);
    EXPECT_EQ(lane_of_order(order), lane);
    EXPECT_EQ(sale_->status(order).value().location, OrderLocation::kQueued);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), kLanes);
  store_all();
  for (const OrderId order : orders) {
    EXPECT_EQ(sale_->status(order).value().location, OrderLocation::kStored);
  }
  EXPECT_EQ(sale_->orders_of(17).value().size(), kLanes);
  expect_audit_passes();
}

TEST_P(LanesTest, BatchOverLanesIsDecidedInOrder) {
  publish_all({.per_user = 1});
  std::vector<BuyRequest> requests;
  for (const VoucherId id : {5, 4, 5, 7, 99, 4}) requests.push_back({.voucher = id, .user = 3});
  const std::vector<BuyResult> results = sale_->buy_all(requests);
  std::vector<Outcome> outcomes;
  for (const BuyResult& result : results) outcomes.push_back(result.outcome);
  EXPECT_EQ(outcomes,
            (std::vector{Outcome::kAccepted, Outcome::kAccepted, Outcome::kLimitReached,
                         Outcome::kAccepted, Outcome::kUnknownVoucher, Outcome::kLimitReached}));
}

TEST_P(LanesTest, LostLaneClosesItsVouchersAlone) {
  publish_all();
  for (std::int64_t user = 1; user <= 3; ++user) {
    for (VoucherId id = kLanes; id < 2 * kLanes; ++id) bought(id, user);
  }
  store_all();
  const auto before = epochs();
  lose_keys_of(2);

  for (const VoucherId id : {4, 5, 7}) EXPECT_EQ(buy(id, 4), Outcome::kAccepted);
  EXPECT_EQ(epochs(), before);
  EXPECT_EQ(buy(6, 1), Outcome::kLimitReached) << "it is rebuilt from the database";
  EXPECT_EQ(buy(6, 4), Outcome::kAccepted);
  EXPECT_EQ(free_of(6), 6);
  const auto after = epochs();
  for (const int lane : {0, 1, 3}) {
    EXPECT_EQ(after.at(static_cast<std::size_t>(lane)), before.at(static_cast<std::size_t>(lane)));
  }
  EXPECT_GT(after.at(2), before.at(2));
  store_all();
  expect_audit_passes();
}

TEST_P(LanesTest, LaneThatComesBackOlderIsNoticed) {
  publish_all();
  bought(5, 1);
  bought(6, 1);
  store_all();
  std::map<std::string, std::string> saved;
  for (const std::string& key : all_keys_of(1)) {
    saved.emplace(key, backend_.client()("DUMP", key).text());
  }
  bought(5, 2);
  bought(6, 2);
  store_all();
  for (const auto& [key, value] : saved) {
    EXPECT_EQ(backend_.client()("RESTORE", key, 0, value, "REPLACE"), Reply::ok());
  }
  backend_.advance_ms(1);
  const auto before = epochs();
  restart();
  const auto after = epochs();
  EXPECT_GT(after.at(1) - before.at(1), after.at(2) - before.at(2)) << "it was rebuilt";
  EXPECT_EQ(free_of(5), 8);
  EXPECT_EQ(free_of(6), 8);
  EXPECT_EQ(buy(5, 2), Outcome::kLimitReached);
  EXPECT_EQ(buy(5, 3), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(LanesTest, EmptiedKeyspaceIsRebuiltInAllLanes) {
  publish_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) bought(id, 1);
  store_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) bought(id, 2);  // lost with the keyspace
  backend_.client()("FLUSHALL");
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    EXPECT_EQ(buy(id, 1), Outcome::kLimitReached);
    EXPECT_EQ(buy(id, 3), Outcome::kAccepted);
    EXPECT_EQ(free_of(id), 8);
  }
  store_all();
  expect_audit_passes();
}

TEST_P(LanesTest, OrderIsChangedOnItsLane) {
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    Voucher paid = voucher(id, 10);
    paid.payment_ms = 60'000;
    ASSERT_TRUE(sale_->publish(paid).ok());
    const OrderId order = bought(id, 1);
    const std::string payment = "p" + std::to_string(id);
    EXPECT_EQ(sale_->pay({.order = order, .payment = payment, .amount_cents = 100}).outcome,
              ChangeOutcome::kDone);
    EXPECT_EQ(sale_->cancel(bought(id, 2), "changed my mind").outcome, ChangeOutcome::kDone);
    store_all();
    EXPECT_EQ(sale_->refund(order, "broken").outcome, ChangeOutcome::kDone);
    EXPECT_EQ(sale_->confirm_refund(payment).outcome, ChangeOutcome::kDone);
    EXPECT_EQ(free_of(id), 10);
  }
  const auto report = sale_->audit().value();
  EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
  EXPECT_EQ(report.money, (MoneyAudit{.received = 400, .refunded = 400}));
  EXPECT_EQ(report.vouchers.size(), kLanes);
}

TEST_P(LanesTest, PaymentsOfSeveralLanesAreDecidedTogether) {
  std::vector<PayRequest> requests;
  for (const VoucherId id : {5, 4, 6, 5}) {
    Voucher paid = voucher(id, 10, {.per_user = 0});
    paid.payment_ms = 60'000;
    ASSERT_TRUE(sale_->publish(paid).ok());
    requests.push_back({.order = bought(id, 1),
                        .payment = "p" + std::to_string(requests.size()),
                        .amount_cents = 100});
  }
  requests.at(2).amount_cents = 1;
  const auto results = sale_->pay_all(requests);
  std::vector<ChangeOutcome> outcomes;
  for (const ChangeResult& result : results) outcomes.push_back(result.outcome);
  EXPECT_EQ(outcomes, (std::vector{ChangeOutcome::kDone, ChangeOutcome::kDone,
                                   ChangeOutcome::kRefused, ChangeOutcome::kDone}));
}

TEST_P(LanesTest, AuditNamesContradictionOfItsLane) {
  publish_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) bought(id, 1);
  store_all();
  backend_.client()("INCR", keys_of(3).stock(7));
  const auto report = sale_->audit().value();
  ASSERT_EQ(report.problems.size(), 1U) << ::testing::PrintToString(report.problems);
  EXPECT_NE(report.problems.front().find("voucher 7"), std::string::npos);
}

TEST_P(LanesTest, AuditNamesVoucherOnWrongLane) {
  if (!backend_.kind().keeps_orders_in_file) return;  // only a file can be damaged
  publish_all();
  bought(6, 1);
  store_all();
  SQLite::Database(backend_.orders_file().string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE voucher_lanes SET lane = 1 WHERE voucher_id = 6");
  restart();
  const auto report = sale_->audit().value();
  EXPECT_THAT(report.problems, ::testing::Contains(::testing::HasSubstr("voucher 6")));
}

TEST_P(LanesTest, AuditCountsProgressOfAllLanes) {
  publish_all();
  store_all();
  AuditProgress last;
  EXPECT_TRUE(sale_->audit([&](const AuditProgress& progress) { last = progress; }).ok());
  EXPECT_EQ(last.vouchers, kLanes);
  EXPECT_EQ(last.vouchers_checked, kLanes);
}

TEST_P(LanesTest, DeadLetterIsFoundByItsLane) {
  publish_all();
  backend_.orders().poison([](const Order& order) { return order.user == 13; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  std::vector<OrderId> orders;
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) orders.push_back(bought(id, 13));
  store_all();
  backend_.orders().poison({});
  const auto letters = sale_->dead_letters().value();
  ASSERT_EQ(letters.size(), kLanes);
  std::set<std::string> ids;
  for (const DeadLetter& letter : letters) ids.insert(letter.id);
  EXPECT_EQ(ids.size(), kLanes);
  std::size_t on_pages = 0;
  for (StreamId after = StreamId::min();;) {
    const auto page = sale_->dead_letters(after, 1).value();
    if (page.empty()) break;
    on_pages += page.size();
    const std::string& last = page.back().id;
    after = StreamId::parse(last.substr(0, last.find('@'))).value();
  }
  EXPECT_EQ(on_pages, kLanes);
  const auto of_lane = [&](const std::string& end) {
    return std::ranges::find_if(letters,
                                [&](const DeadLetter& one) { return one.id.ends_with(end); });
  };
  ASSERT_NE(of_lane("@1"), letters.end());
  EXPECT_TRUE(sale_->retry_dead_letter(of_lane("@1")->id).value());
  EXPECT_TRUE(sale_->discard_dead_letter(of_lane("@2")->id, "not wanted").value());
  EXPECT_FALSE(sale_->retry_dead_letter("1-1@9").value());
  EXPECT_FALSE(sale_->retry_dead_letter("1-1@x").value());
  store_all();
  EXPECT_EQ(sale_->status(orders.at(1)).value().location, OrderLocation::kStored);
  EXPECT_EQ(sale_->dead_letters().value().size(), 2U);
  EXPECT_EQ(sale_->discarded_letters().value().at(0).id.ends_with("@2"), true);
  expect_audit_passes();
}

TEST_P(LanesTest, KeyIsKnownToItsLane) {
  publish_all();
  const OrderId first = sale_->buy(5, 1, "click").order;
  const BuyResult again = sale_->buy(5, 1, "click");
  EXPECT_EQ(again.order, first);
  EXPECT_TRUE(again.is_repeated);
  EXPECT_EQ(buy(6, 1, "click"), Outcome::kAccepted) << "another lane has keys of its own";
  store_all();
  EXPECT_TRUE(sale_->dead_letters().value().empty());
  lose_keys_of(1);
  EXPECT_EQ(sale_->buy(5, 1, "click").order, first);
  EXPECT_EQ(buy(5, 2), Outcome::kAccepted);
  expect_audit_passes();
}

TEST_P(LanesTest, ArchivedVoucherLeavesItsLane) {
  publish_all();
  const OrderId order = bought(6, 1);
  store_all();
  ASSERT_TRUE(sale_->close(6).ok());
  ASSERT_TRUE(sale_->archive(6).ok());
  EXPECT_EQ(backend_.client()("EXISTS", keys_of(2).stock(6)), Reply::integer(0));
  EXPECT_EQ(sale_->status(order).value().location, OrderLocation::kStored);
  EXPECT_FALSE(sale_->publish_if_new(voucher(6, 1)).value());
  expect_audit_passes();
  EXPECT_EQ(sale_->delete_archived(6).value(), 1U);
}

TEST_P(LanesTest, UnpaidOrdersOfEachLaneTimeOut) {
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    Voucher paid = voucher(id, 1);
    paid.payment_ms = 60'000;
    ASSERT_TRUE(sale_->publish(paid).ok());
    bought(id, 1);
  }
  store_all();
  backend_.advance_ms(61'000);
  store_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) EXPECT_EQ(free_of(id), 1);
  expect_audit_passes();
}

TEST_P(LanesTest, PurchasesOfAllLanesAreCounted) {
  publish_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) bought(id, 1);
  EXPECT_EQ(buy(5, 1), Outcome::kLimitReached);
  const PurchaseStatistics purchases = sale_->purchases();
  EXPECT_EQ(purchases.vouchers.size(), kLanes);
  EXPECT_EQ(purchases.vouchers.at(5).of(Outcome::kAccepted), 1U);
  EXPECT_EQ(purchases.vouchers.at(5).of(Outcome::kLimitReached), 1U);
}

TEST_P(LanesTest, SaleKeepsItsLanes) {
  publish_all();
  const auto again = Sale::open(backend_.keyspace(), backend_.orders());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->lanes().size(), kLanes);
  EXPECT_EQ((*again)->options().lanes, kLanes);
  EXPECT_EQ((*again)->buy(6, 1).outcome, Outcome::kAccepted);
}

TEST_P(LanesTest, SaleIsMovedThereAndBack) {
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    Voucher waited_for = voucher(id, 3);
    waited_for.waiting_max = 5;
    ASSERT_TRUE(sale_->publish(waited_for).ok());
    for (std::int64_t user = 1; user <= 3; ++user) bought(id, user);
    EXPECT_EQ(sale_->wait_for(id, 9).outcome, WaitOutcome::kWaiting);
  }
  ManualClock clock(backend_.clock().now_ms() + 1);  // stream ids are not reused
  auto elsewhere = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock}).value();
  const auto there =
      move_sale(backend_.keyspace(), *elsewhere, backend_.orders(), {.to_name = "elsewhere"});
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(there->stored, 3U * kLanes);
  EXPECT_EQ(there->waiting, kLanes);
  EXPECT_EQ(sale_->buy(4, 9).outcome, Outcome::kOverloaded) << "it has left";
  {
    const auto moved = Sale::open(*elsewhere, backend_.orders()).value();
    EXPECT_EQ(moved->lanes().size(), kLanes);
    EXPECT_EQ(moved->lanes()[0].keys.order_stream, "stream.orders");
    for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
      EXPECT_EQ(moved->buy(id, 4).outcome, Outcome::kSoldOut);
      EXPECT_EQ(moved->waiting_list(id).value(), std::vector<UserId>{9});
    }
    const auto report = moved->audit().value();
    EXPECT_TRUE(report.passed()) << ::testing::PrintToString(report.problems);
  }
  const auto again =
      move_sale(backend_.keyspace(), *elsewhere, backend_.orders(), {.to_name = "elsewhere"});
  EXPECT_TRUE(again.ok() && again->was_done) << again.status();
  const auto back =
      move_sale(*elsewhere, backend_.keyspace(), backend_.orders(), {.to_name = "back"});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->waiting, kLanes);
  backend_.advance_ms(1);
  sale_ = open_sale(backend_.keyspace());
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    ASSERT_TRUE(sale_->add_stock(id, 2).ok());
  }
  store_all();
  for (VoucherId id = kLanes; id < 2 * kLanes; ++id) {
    EXPECT_EQ(buy(id, 1), Outcome::kLimitReached);
    EXPECT_EQ(buy(id, 9), Outcome::kLimitReached) << "the waiting user was served";
    EXPECT_EQ(free_of(id), 1);
  }
  store_all();
  expect_audit_passes();
}

TEST_P(LanesTest, ImpossibleOptionsAreRefused) {
  const auto refusal = [&](SaleOptions options) {
    return Sale::open(backend_.keyspace(), backend_.orders(), std::move(options)).status();
  };
  EXPECT_TRUE(absl::IsInvalidArgument(refusal({.lanes = -1})));
  EXPECT_TRUE(absl::IsInvalidArgument(refusal({.lanes = kLanesMax + 1})));
  const absl::Status adopting = refusal({.adopt = true});
  EXPECT_EQ(adopting.code(), backend_.kind().is_cluster ? absl::StatusCode::kUnimplemented
                                                        : absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Backends, LanesTest, each_backend_of_lanes(), backend_name);

/// A sale that began with one lane.
class MoreLanesTest : public LanesTest {
 protected:
  MoreLanesTest() : LanesTest(1) {}

  std::unique_ptr<Sale> open_with(int lanes) {
    auto sale = Sale::open(backend_.keyspace(), backend_.orders(), {.lanes = lanes});
    EXPECT_TRUE(sale.ok()) << sale.status();
    return *std::move(sale);
  }
  /// Publishes a voucher on three lanes, and returns it. The `older_` processes have opened the sale with one and two.
  Voucher publish_on_three_lanes() {
    older_.push_back(std::move(sale_));
    older_.push_back(open_with(2));
    sale_ = open_with(3);
    Voucher split = voucher(7, 9);
    split.lanes = 3;
    EXPECT_TRUE(sale_->publish(split).ok());
    return split;
  }

  std::vector<std::unique_ptr<Sale>> older_;
};

TEST_P(MoreLanesTest, VouchersOnSaleStayWhereTheyAre) {
  ASSERT_TRUE(sale_->publish(voucher(7, 10)).ok());
  const OrderId early = bought(7, 1);
  sale_ = open_with(kLanes);
  EXPECT_EQ(sale_->lane_of(7).value().number, 0);
  EXPECT_EQ(sale_->lane_of(11).value().number, 3);
  EXPECT_EQ(buy(7, 1), Outcome::kLimitReached);
  bought(7, 2);
  ASSERT_TRUE(sale_->add_stock(7, 5).ok());
  ASSERT_TRUE(sale_->publish(voucher(11, 10)).ok());
  EXPECT_EQ(lane_of_order(bought(11, 1)), 3);
  store_all();
  EXPECT_EQ(sale_->status(early).value().location, OrderLocation::kStored);
  EXPECT_EQ(free_of(7), 13);
  expect_audit_passes();
  sale_ = open_with(2 * kLanes);
  EXPECT_EQ(sale_->lane_of(11).value().number, 3) << "now it would begin on another one";
  EXPECT_EQ(buy(11, 1), Outcome::kLimitReached);
  expect_audit_passes();
}

TEST_P(MoreLanesTest, OlderProcessLooksForMovedBeginnings) {
  sale_ = open_with(3);
  const auto newer = open_with(4);
  ASSERT_TRUE(newer->publish(voucher(4, 10)).ok());  // on 0, and would be on 1 of three lanes
  EXPECT_EQ(buy(4, 1), Outcome::kAccepted);
  EXPECT_EQ(sale_->buy_all(std::vector<BuyRequest>{{.voucher = 4, .user = 2}}).at(0).outcome,
            Outcome::kAccepted);
  EXPECT_EQ(sale_->voucher(4).value()->voucher.stock, 10);
}

TEST_P(MoreLanesTest, OlderProcessRefusesVoucherOfNewLane) {
  sale_ = open_with(2);
  const auto newer = open_with(4);
  ASSERT_TRUE(newer->publish(voucher(7, 10)).ok());
  const BuyResult result = sale_->buy(7, 1);
  EXPECT_EQ(result.outcome, Outcome::kOverloaded);
  EXPECT_NE(result.detail.find("open it again"), std::string::npos) << result.detail;
  EXPECT_TRUE(absl::IsUnavailable(sale_->publish(voucher(7, 11))));
}

TEST_P(MoreLanesTest, OlderProcessRebuildsNoVoucherOnMoreLanes) {
  publish_on_three_lanes();
  backend_.client()("DEL", keys_of(0).voucher(7), keys_of(0).stock(7));
  for (const std::unique_ptr<Sale>& older : older_) {
    const BuyResult result = older->buy(7, 1);
    EXPECT_EQ(result.outcome, Outcome::kOverloaded);
    EXPECT_NE(result.detail.find("open it again"), std::string::npos) << result.detail;
  }
}

TEST_P(MoreLanesTest, OlderProcessFinishesNoVersionOfMoreLanes) {
  Voucher split = publish_on_three_lanes();
  split.stock = 3;
  ASSERT_TRUE(backend_.orders().record_pending({.voucher = split, .version = 2}).ok());
  for (const std::unique_ptr<Sale>& older : older_) {
    const absl::Status added = older->add_stock(7, 1);
    EXPECT_TRUE(absl::IsUnavailable(added)) << added;
    EXPECT_NE(added.message().find("open it again"), std::string::npos) << added;
  }
  EXPECT_TRUE(sale_->add_stock(7, 1).ok());
  EXPECT_EQ(sale_->voucher(7).value()->voucher.stock, 4);
}

TEST_P(MoreLanesTest, LaneWithoutOrderIdsIsOpened) {
  sale_ = open_with(2);
  ASSERT_TRUE(sale_->publish(voucher(7, 10)).ok());
  const int lane = sale_->lane_of(7).value().number;
  ASSERT_EQ(lane, 1);
  const OrderId order = bought(7, 1);
  const std::int64_t day = backend_.clock().now_ms() / kDayMs;
  ASSERT_TRUE(
      backend_.orders().lanes()->reserve_ids_of(lane, day, counters_of_lane(lane).last, 1).ok());
  sale_ = open_with(2);
  EXPECT_EQ(sale_->buy(7, 2).detail, "the lane 1 has used all of its order ids of this day (UTC)");
  store_all();
  EXPECT_EQ(sale_->status(order).value().location, OrderLocation::kStored);
  backend_.advance_ms(kDayMs);
}

TEST_P(MoreLanesTest, OlderProcessKnowsOrderOfNewLane) {
  sale_ = open_with(2);
  const auto newer = open_with(4);
  ASSERT_TRUE(newer->publish(voucher(7, 10)).ok());
  const OrderId order = newer->buy(7, 1).order;
  EXPECT_EQ(lane_of_order(order), 3);
  EXPECT_TRUE(absl::IsUnavailable(sale_->status(order).status()));
  const ChangeResult cancelled = sale_->cancel(order, "too late");
  EXPECT_EQ(cancelled.outcome, ChangeOutcome::kOverloaded);
  EXPECT_NE(cancelled.detail.find("open it again"), std::string::npos) << cancelled.detail;
  const PayRequest payment{.order = order, .payment = "p", .amount_cents = 100};
  EXPECT_EQ(sale_->pay(payment).outcome, ChangeOutcome::kOverloaded);
  const OrderId impossible = counters_of_lane(9).first;
  EXPECT_EQ(sale_->cancel(impossible, "").outcome, ChangeOutcome::kUnknownOrder);
}

TEST_P(MoreLanesTest, UnknownVoucherIsNotAskedForEachTime) {
  sale_ = open_with(2);
  EXPECT_EQ(buy(99, 1), Outcome::kUnknownVoucher);
  backend_.orders().fail_reads(absl::InternalError("asked again"));
  EXPECT_EQ(buy(99, 1), Outcome::kUnknownVoucher);
  EXPECT_EQ(sale_->wait_for(99, 1).outcome, WaitOutcome::kUnknownVoucher);
  backend_.advance_ms(UnknownVouchers::kRememberedMs);
  EXPECT_EQ(sale_->buy(99, 1).detail, "asked again");
  backend_.orders().fail_reads(absl::OkStatus());
  const auto newer = open_with(4);
  ASSERT_TRUE(newer->publish(voucher(99, 10)).ok());
  EXPECT_EQ(sale_->buy(99, 1).outcome, Outcome::kOverloaded) << "it is on a lane that is new";
}

INSTANTIATE_TEST_SUITE_P(Backends, MoreLanesTest, each_backend_of_lanes(), backend_name);

// ---- Servers that are away ----------------------------------------------------------------------

TEST(LanesAwayTest, OnlyLaneIsOpenedOnceChecked) {
  using Fault = faults::FaultyBackend::Fault;
  testing::SimulatedCluster cluster(1);
  const auto connections = cluster.connect();
  bool loses = false;
  faults::FaultyBackend backend(*connections, [&](const Request& /*request*/) {
    return std::exchange(loses, false) ? Fault::kRequestLost : Fault::kNone;
  });
  MemoryOrderStore orders;
  loses = true;
  EXPECT_TRUE(absl::IsUnavailable(Sale::open(backend, orders, {.lanes = 1}).status()));
  EXPECT_EQ(orders.state().value().epoch, 1) << "nothing was opened";
  loses = true;
  EXPECT_TRUE(Sale::open(backend, orders, {.lanes = 2}).ok()) << "each lane is checked";
}

TEST(LanesAwayTest, LaneThatStaysAwayIsLoggedOnce) {
  testing::SimulatedCluster cluster(2);
  const auto backend = cluster.connect();
  cluster.kill(cluster.master_of(SaleKeys{}.of_lane(1).order_stream));
  MemoryOrderStore orders;
  std::ostringstream log;
  SaleOptions options{.lanes = 2};
  options.logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  const auto sale = Sale::open(*backend, orders, options).value();
  constexpr std::string_view kMessage = "the lane 1 is not open";
  EXPECT_THAT(log.str(), ::testing::HasSubstr(kMessage));
  log.str("");
  for (int i = 0; i < 3; ++i) {
    cluster.advance_ms(1'000);
    EXPECT_TRUE(absl::IsUnavailable(sale->publish({.id = 1, .stock = 1, .end_ms = 1})));
  }
  EXPECT_EQ(log.str().find(kMessage), std::string::npos) << log.str();
}

}  // namespace
}  // namespace rushgate
