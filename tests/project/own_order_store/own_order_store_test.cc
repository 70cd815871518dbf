// A sale on an order database of a user's own, which has five methods and keeps no vouchers.
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/project/own_order_store/file_order_store.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/flash_sale.h>
#include <rushgate/memory_order_store.h>
#include <rushgate/memory_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;
using StepKind = OrderWorker::Step::Kind;

class OwnOrderStoreTest : public ::testing::Test {
 protected:
  OwnOrderStoreTest() { EXPECT_TRUE(sale_->publish(voucher(3)).ok()); }

  [[nodiscard]] static Voucher voucher(std::int64_t stock) {
    return {.id = 7, .title = "Coffee", .stock = stock};
  }
  [[nodiscard]] std::filesystem::path file() const { return directory_.path() / "orders"; }

  OrderId buy(UserId user) {
    const BuyResult bought = sale_->buy(7, user);
    EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    return bought.order;
  }
  void drain() {
    OrderWorker::Step step = worker_.step();
    while (step.kind == StepKind::kWorked) step = worker_.step();
    EXPECT_EQ(step.kind, StepKind::kIdle) << step.reason;
  }
  AuditReport passed_audit() {
    const auto report = sale_->audit();
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    return *report;
  }

  const TemporaryDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<FileOrderStore> orders_ = FileOrderStore::open(file()).value();
  MemoryOrderStore memory_;
  faults::FaultyOrderStore vouchers_{memory_};
  std::unique_ptr<Engine> engine_ =
      Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_}).value();
  const SaleStores stores_{*orders_, vouchers_};
  std::unique_ptr<Sale> sale_ = Sale::open(*engine_, stores_).value();
  OrderWorker worker_{*engine_, stores_, SaleKeys{}};
};

TEST_F(OwnOrderStoreTest, SaleStoresOrdersAndPassesAudit) {
  const OrderId first = buy(1);
  buy(2);
  buy(3);
  EXPECT_EQ(sale_->buy(7, 4).outcome, Outcome::kSoldOut);
  drain();
  EXPECT_EQ(sale_->status(first)->location, OrderLocation::kStored);
  EXPECT_EQ(sale_->orders_of(2)->size(), 1U);
  EXPECT_EQ(passed_audit().vouchers.at(0).created, 3);
  const std::vector<Order> stored = orders_->list({}).value();
  orders_.reset();
  EXPECT_EQ(FileOrderStore::open(file()).value()->list({}).value(), stored);
}

TEST_F(OwnOrderStoreTest, RebuildCountsStoredOrders) {
  buy(1);
  drain();
  buy(2);
  (*engine_->open_client())("DEL", SaleKeys{}.stock(7));
  buy(3);
  EXPECT_EQ(sale_->buy(7, 4).outcome, Outcome::kSoldOut);
  drain();
  EXPECT_EQ(passed_audit().vouchers.at(0).created, 3);
}

/// The second line of defence: the stock of the keyspace is wrong.
TEST_F(OwnOrderStoreTest, OrderBeyondTheStockBecomesDeadLetter) {
  for (std::int64_t user = 1; user <= 3; ++user) buy(user);
  drain();
  (*engine_->open_client())("SET", SaleKeys{}.stock(7), 1);
  const OrderId beyond = buy(4);
  drain();
  EXPECT_EQ(sale_->status(beyond)->location, OrderLocation::kDeadLetter);
  EXPECT_EQ(sale_->dead_letters()->at(0).reason, "voucher 7 has 3 pieces taken of a stock of 3");
  EXPECT_EQ(orders_->count_live(7).value(), 3);
}

TEST_F(OwnOrderStoreTest, RaisedStockCountsInNextBatch) {
  for (std::int64_t user = 1; user <= 3; ++user) buy(user);
  drain();
  ASSERT_TRUE(sale_->add_stock(7, 1).ok());
  buy(4);
  drain();
  EXPECT_EQ(passed_audit().vouchers.at(0).created, 4);
}

TEST_F(OwnOrderStoreTest, UnreadableVouchersPauseWorker) {
  const OrderId order = buy(1);
  vouchers_.fail_reads(absl::InvalidArgumentError("broken"));
  const OrderWorker::Step step = worker_.step();
  EXPECT_EQ(step.kind, StepKind::kPaused);
  EXPECT_EQ(step.faulted, 0U);
  EXPECT_THAT(step.reason, HasSubstr("reading voucher 7: "));
  vouchers_.fail_reads(absl::OkStatus());
  engine_->advance_ms(WorkerOptions{}.pause_ms_max);
  drain();
  EXPECT_EQ(sale_->status(order)->location, OrderLocation::kStored);
}

TEST_F(OwnOrderStoreTest, SaleWithoutVoucherStoreIsRefused) {
  const auto without = Sale::open(*engine_, *orders_);
  EXPECT_TRUE(absl::IsFailedPrecondition(without.status())) << without.status();
  EXPECT_THAT(std::string(without.status().message()), HasSubstr("VoucherStore"));
}

TEST_F(OwnOrderStoreTest, FlashSaleOwnsBothStores) {
  const auto sale = FlashSale::open(Engine::open(std::make_unique<MemoryStore>()).value(),
                                    FileOrderStore::open(directory_.path() / "others").value(),
                                    std::make_unique<MemoryOrderStore>(), {.workers = 0})
                        .value();
  ASSERT_TRUE(sale->publish(voucher(1)).ok());
  const BuyResult bought = sale->buy(7, 1);
  ASSERT_TRUE(sale->drain().ok());
  EXPECT_EQ(sale->status(bought.order)->location, OrderLocation::kStored);
  EXPECT_TRUE(sale->audit()->passed());
}

}  // namespace
}  // namespace rushgate
