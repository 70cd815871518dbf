// Moving a running sale to another keyspace, from and to every kind of keyspace.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sweep.h"
#include "tests/unit/sale/sale_fixture.h"
#include <rushgate/move_sale.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using MoveKinds = std::tuple<SaleBackendParam, SaleBackendParam>;

constexpr std::int64_t kStock = 8;
constexpr char kThere[] = "redis://there";

/// A sale with something of everything that a move has to bring along, and the place where it goes.
class MovingSale : public SaleFixture {
 public:
  explicit MovingSale(const MoveKinds& kinds)
      : SaleFixture(*std::get<0>(kinds), TestTime::kMachines),
        there_(std::get<1>(kinds)->make_keyspace(directory_.path(), nullptr)),
        to_(there_->open()) {}

  void TestBody() override {}

  /// Voucher 1 demands payment: one order is paid, one is not, and one piece is free. Voucher 2 is sold
  /// out, and users wait for it. Of voucher 3, an order is a dead letter, and two are queued.
  void sell() {
    Voucher paid = voucher(1, 3);
    paid.payment_ms = 600'000;
    ASSERT_TRUE(sale_->publish(paid).ok());
    Voucher waited = voucher(2, 1);
    waited.payment_ms = 600'000;
    waited.waiting_max = 10;
    ASSERT_TRUE(sale_->publish(waited).ok());
    ASSERT_TRUE(sale_->publish(voucher(3, kStock)).ok());
    const OrderId first = bought(1, 1);
    bought(1, 2);
    sold_out_ = bought(2, 1);
    for (const std::int64_t user : {7, 5, 6}) {
      ASSERT_EQ(sale_->wait_for(2, user).outcome, WaitOutcome::kWaiting);
    }
    bought(3, 1, "click");
    dead_ = bought(3, 4);
    backend_.orders().poison([this](const Order& order) { return order.id == dead_; },
                             faults::FaultyOrderStore::Poison::kIsRefused);
    step(*worker_);
    backend_.orders().poison(nullptr);
    ASSERT_EQ(sale_->pay({.order = first, .payment = "p1", .amount_cents = 100}).outcome,
              ChangeOutcome::kDone);
    bought(3, 2);
    read_by_somebody();
    bought(3, 3);
    if (!backend_.kind().is_server) return;
    other_ = backend_.open_another();  // another process, which keeps selling
  }

  absl::StatusOr<MoveReport> move() { return move(backend_.keyspace(), *to_); }
  /// Moves in a process that dies with its nth request. Returns false if it ended earlier.
  bool is_killed(int nth, bool is_before) {
    Death death(nth, is_before);
    HookedBackend from(backend_.keyspace(), death.hooks());
    HookedBackend to(*to_, death.hooks());
    try {
      const auto moved = move(from, to);
      EXPECT_TRUE(moved.ok() || death.has_struck()) << moved.status();
    } catch (const Killed&) {
    }
    return death.has_struck();
  }

  /// Expects that a process which has the old place open sells and stores nothing, and says where the sale is.
  void expect_refusal_of_process_here() {
    const BuyResult refused = sale_->buy(3, 50);
    EXPECT_NE(refused.outcome, Outcome::kAccepted);
    EXPECT_THAT(refused.detail, HasSubstr(std::string("the sale was moved to ") + kThere));
    const OrderWorker::Step step = worker_->step();
    EXPECT_EQ(step.stored, 0U);
  }
  /// Expects that, and that no process can open the old place.
  void expect_refusal_here() {
    expect_refusal_of_process_here();
    const auto opened = Sale::open(backend_.keyspace(), backend_.orders(), {});
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr(kThere));
  }

  /// Expects that the sale goes on there with everything, and sells exactly what is left.
  void expect_sale_there() {
    auto sale = Sale::open(*to_, backend_.orders(), {});
    ASSERT_TRUE(sale.ok()) << sale.status();
    OrderWorker worker(*to_, backend_.orders(), {}, {.consumer = "there"});
    EXPECT_EQ((*sale)->waiting_list(2).value(), (std::vector<UserId>{7, 5, 6}));
    EXPECT_EQ((*sale)->dead_letters().value().size(), 1U);
    EXPECT_EQ((*sale)->buy(3, 1, "click").order, accepted_.at(3)) << "the key is known";
    EXPECT_EQ((*sale)->buy(3, 2).outcome, Outcome::kLimitReached);
    EXPECT_EQ((*sale)->cancel(sold_out_, "no").outcome, ChangeOutcome::kDone);
    EXPECT_EQ((*sale)->waiting_list(2).value(), (std::vector<UserId>{5, 6}))
        << "the first was served";
    for (const OrderId order : accepted_) {
      EXPECT_NE((*sale)->status(order).value().location, OrderLocation::kUnknown) << order;
    }
    std::int64_t sold = 4;
    for (std::int64_t user = 100; user < 120; ++user) {
      const BuyResult result = (*sale)->buy(3, user);
      if (result.outcome != Outcome::kAccepted) continue;
      accepted_.push_back(result.order);
      ++sold;
    }
    EXPECT_EQ(sold, kStock);
    step(worker);
    std::set<OrderId> stored;
    ASSERT_TRUE(for_each_order(backend_.orders(), {}, [&](const Order& order) {
                  stored.insert(order.id);
                }).ok());
    EXPECT_EQ((*sale)->status(dead_).value().location, OrderLocation::kDeadLetter);
    stored.insert(dead_);
    for (const OrderId order : accepted_) EXPECT_TRUE(stored.contains(order)) << order;
    EXPECT_EQ(stored.size(), accepted_.size() + 1) << "and the order of the user who was served";
    const auto report = (*sale)->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
  }

  Backend& to() { return *to_; }
  Sale& sale() { return *sale_; }
  SaleBackend& backend() { return backend_; }

 private:
  absl::StatusOr<MoveReport> move(Backend& from, Backend& to) {
    return move_sale(from, to, backend_.orders(), {.to_name = kThere, .patience_ms = 300});
  }
  OrderId bought(VoucherId id, std::int64_t user, std::string_view key = {}) {
    const BuyResult result = sale_->buy(id, user, key);
    EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
    accepted_.push_back(result.order);
    return result.order;
  }
  static void step(OrderWorker& worker) {
    while (worker.step().kind == OrderWorker::Step::Kind::kWorked) continue;
  }
  /// Lets a worker that dies read what is queued.
  void read_by_somebody() {
    const std::string identity = backend_.orders().state()->identity;
    backend_.client()("XREADGROUP", "GROUP", SaleKeys{}.group, "dead@" + identity, "STREAMS",
                      SaleKeys{}.order_stream, ">");
  }

  const TemporaryDirectory directory_;
  const std::unique_ptr<TestKeyspace> there_;
  std::unique_ptr<Backend> to_;
  std::unique_ptr<Backend> other_;
  std::vector<OrderId> accepted_;
  OrderId sold_out_ = 0;
  OrderId dead_ = 0;
};

class MoveSaleTest : public ::testing::TestWithParam<MoveKinds> {};

std::string move_name(const ::testing::TestParamInfo<MoveKinds>& kinds) {
  return std::string(std::get<0>(kinds.param)->name) + "To" + std::get<1>(kinds.param)->name;
}

INSTANTIATE_TEST_SUITE_P(Backends, MoveSaleTest,
                         ::testing::Combine(each_backend_without_lanes(),
                                            each_backend_without_lanes()),
                         move_name);

TEST_P(MoveSaleTest, SaleGoesOnThere) {
  MovingSale sale(GetParam());
  ASSERT_NO_FATAL_FAILURE(sale.sell());
  const auto report = sale.move();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->was_done);
  EXPECT_GE(report->stored, 3U);
  EXPECT_EQ(report->letters, 1U);
  EXPECT_EQ(report->waiting, 3U);
  sale.expect_refusal_here();
  const auto again = sale.move();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->was_done);
  sale.expect_sale_there();
}

// A process that was forgotten with the old URL must not sell everything once more.
TEST_P(MoveSaleTest, EmptiedKeyspaceDoesNotGetSaleBack) {
  MovingSale sale(GetParam());
  ASSERT_NO_FATAL_FAILURE(sale.sell());
  ASSERT_TRUE(sale.move().ok());
  sale.expect_refusal_here();
  ASSERT_EQ(sale.backend().client()("FLUSHALL"), Reply::ok());
  for (int i = 0; i < 2; ++i) sale.expect_refusal_of_process_here();
  sale.expect_sale_there();
}

SaleBackendParam kind_named(std::string_view name) {
  return sale_backends(TestTime::kMachines,
                       [&](const SaleBackendKind& kind) { return kind.name == name; })
      .front();
}

class MoveKillTest : public MoveSaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, MoveKillTest,
                         ::testing::Values(MoveKinds(kind_named("Memory"), kind_named("Memory")),
                                           MoveKinds(kind_named("RocksDb"), kind_named("Redis")),
                                           MoveKinds(kind_named("Redis"), kind_named("RocksDb"))),
                         move_name);

TEST_P(MoveKillTest, KilledMoveIsRepeated) {
  const bool is_slow = std::get<0>(GetParam())->keeps_orders_in_file;
  testing::Sweep sweep(is_slow ? 200 : 20);
  SCOPED_TRACE(sweep.seed_text());
  for (bool is_before = true;; is_before = !is_before) {
    const int nth = sweep.next();
    SCOPED_TRACE("killed with request " + std::to_string(nth));
    MovingSale sale(GetParam());
    ASSERT_NO_FATAL_FAILURE(sale.sell());
    const bool was_killed = sale.is_killed(nth, is_before);
    const auto moved = sale.move();
    ASSERT_TRUE(moved.ok()) << moved.status();
    sale.expect_refusal_here();
    sale.expect_sale_there();
    if (!was_killed || HasFailure()) break;
  }
}

}  // namespace
}  // namespace rushgate
