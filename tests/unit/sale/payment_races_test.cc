// Every order of two and of three operations on one order: exactly one of payment, cancellation and
// timeout wins, and stock and money add up.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sweep.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using StepKind = OrderWorker::Step::Kind;

constexpr std::int64_t kPrice = 250;
constexpr std::int64_t kPaymentMs = 60'000;
constexpr std::int64_t kBuyer = 5;
constexpr std::int64_t kOther = 6;
constexpr std::int64_t kLast = 7;  // buys after the operations

enum class Operation : std::uint8_t {
  kPay,
  kPayAgain,  // the same payment
  kPaySecond,
  kCancel,
  kTimeout,
  kStep,
  kOtherStep,  // of the second worker
  kBuyAgain,   // the same user
  kBuyOther,   // another user
  kRefund,
  kLoseVoucher,  // its keys: the next call that needs them rebuilds it
  kRestart,
};
constexpr std::array kOperations = {
    Operation::kPay,      Operation::kPayAgain, Operation::kPaySecond,   Operation::kCancel,
    Operation::kTimeout,  Operation::kStep,     Operation::kOtherStep,   Operation::kBuyAgain,
    Operation::kBuyOther, Operation::kRefund,   Operation::kLoseVoucher, Operation::kRestart};

std::string_view name_of(Operation operation) {
  constexpr std::string_view kNames[kOperations.size()] = {
      "pay",        "pay again", "pay second", "cancel", "timeout",      "step",
      "other step", "buy again", "buy other",  "refund", "lose voucher", "restart"};
  return kNames[static_cast<std::size_t>(operation)];
}

/// One process: a sale and two workers. Its files are in memory.
class RaceSale {
 public:
  explicit RaceSale(const SaleBackendKind& kind)
      : kind_(kind), keyspace_(kind.make_keyspace(directory_.path(), &clock_)) {
    open();
  }

  void restart() {
    for (auto& worker : workers_) worker.reset();
    sale_.reset();
    client_.reset();
    backend_.reset();
    opened_.reset();
    open();
  }
  void advance_ms(std::int64_t duration_ms) { keyspace_->advance_ms(*opened_, duration_ms); }

  [[nodiscard]] std::int64_t now_ms() const { return clock_.now_ms(); }
  [[nodiscard]] OrderStore& orders() { return *orders_; }
  [[nodiscard]] Client& client() { return *client_; }
  [[nodiscard]] Sale& sale() { return *sale_; }
  [[nodiscard]] OrderWorker& worker(std::size_t i) { return *workers_.at(i); }
  VoucherId next_voucher() { return ++voucher_; }
  [[nodiscard]] VoucherId vouchers() const { return voucher_; }

  /// Stores everything. Expects that nothing is buried, and that no fault is counted.
  void drain() {
    for (int retry = 0; retry < 10; ++retry) {
      bool is_done = true;
      for (auto& worker : workers_) {
        OrderWorker::Step step = worker->step();
        for (; step.kind == StepKind::kWorked; step = worker->step()) {
          EXPECT_EQ(step.buried, 0U);
          is_done = is_done && step.faulted == 0;
        }
        EXPECT_EQ(step.reason, "");
      }
      if (is_done) return;
      advance_ms(WorkerOptions{}.retry_after_ms);
    }
    ADD_FAILURE() << "the workers do not finish";
  }

  void expect_audit_passes() {
    const auto report = sale_->audit();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->passed()) << ::testing::PrintToString(report->problems);
    const MoneyAudit& money = report->money;
    EXPECT_EQ(money.received, money.kept + money.due + money.refunded);
  }

 private:
  void open() {
    if (kind_.keeps_orders_in_file) orders_.reset();
    if (!orders_) orders_ = kind_.open_orders(directory_.path() / "orders.db");
    opened_ = keyspace_->open();
    backend_ = std::make_unique<OneThreadBackend>(*opened_, clock_);
    client_ = opened_->open_client();
    auto sale = Sale::open(*backend_, *orders_);
    if (!sale.ok()) throw std::runtime_error(sale.status().ToString());
    sale_ = *std::move(sale);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i] = std::make_unique<OrderWorker>(
          *backend_, *orders_, SaleKeys{}, WorkerOptions{.consumer = "c" + std::to_string(i)});
    }
  }

  const SaleBackendKind& kind_;
  const TemporaryDirectory directory_;
  ManualClock clock_;
  const std::unique_ptr<TestKeyspace> keyspace_;
  std::unique_ptr<OrderStore> orders_;
  std::unique_ptr<Backend> opened_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Sale> sale_;
  std::array<std::unique_ptr<OrderWorker>, 2> workers_;
  VoucherId voucher_ = 0;
};

/// An order of a voucher with one piece, and a model of it.
class Race {
 public:
  Race(RaceSale& sale, bool is_stored) : sale_(sale), voucher_(sale.next_voucher()) {
    const std::int64_t now_ms = sale.now_ms();
    const absl::Status published = sale.sale().publish({.id = voucher_,
                                                        .title = "voucher",
                                                        .stock = 1,
                                                        .begin_ms = now_ms - 1'000,
                                                        .price_cents = kPrice,
                                                        .payment_ms = kPaymentMs});
    EXPECT_EQ(published, absl::OkStatus());
    const BuyResult bought = sale.sale().buy(voucher_, kBuyer);
    EXPECT_EQ(bought.outcome, Outcome::kAccepted) << bought.detail;
    order_ = bought.order;
    if (is_stored) sale.drain();
  }

  void run(Operation operation) {
    switch (operation) {
      case Operation::kPay:
      case Operation::kPayAgain:
        return pay("first");
      case Operation::kPaySecond:
        return pay("second");
      case Operation::kCancel:
        return cancel();
      case Operation::kTimeout:
        return time_out();
      case Operation::kStep:
        return step(0);
      case Operation::kOtherStep:
        return step(1);
      case Operation::kBuyAgain:
        return buy(kBuyer);
      case Operation::kBuyOther:
        return buy(kOther);
      case Operation::kRefund:
        return refund();
      case Operation::kLoseVoucher:
        return lose_voucher();
      case Operation::kRestart:
        return sale_.restart();
    }
  }

  /// Expects that both stores agree with the model, before and after everything is stored.
  void check() {
    buy(kLast);  // rebuilds a lost voucher
    sale_.expect_audit_passes();
    sale_.drain();
    sale_.expect_audit_passes();
    note_timeouts();
    check_orders();
    check_payments();
    EXPECT_EQ(count_ended_holds(sale_.client()), 0);
    EXPECT_EQ(count_unstored_payments(sale_.client()), 0);
    const auto summary = sale_.sale().summary(voucher_);
    ASSERT_TRUE(summary.ok() && summary->has_value()) << summary.status();
    EXPECT_EQ((*summary)->free, is_free() ? 1 : 0);
  }

 private:
  [[nodiscard]] std::string id_of(const std::string& payment) const {
    return std::to_string(voucher_) + '-' + payment;
  }
  [[nodiscard]] bool is_free() const { return !is_live(status_) && others_.empty(); }

  void pay(const std::string& payment) {
    const ChangeResult result =
        sale_.sale().pay({.order = order_, .payment = id_of(payment), .amount_cents = kPrice});
    if (status_ == OrderStatus::kUnpaid) {
      status_ = OrderStatus::kPaid;
      kept_ = payment;
      EXPECT_EQ(result.outcome, ChangeOutcome::kDone) << result.detail;
      EXPECT_FALSE(result.is_repeated);
      return;
    }
    const bool is_repeated = payment == kept_ || due_.contains(payment);
    const bool has_paid = payment == kept_;
    EXPECT_EQ(result.outcome, has_paid ? ChangeOutcome::kDone : ChangeOutcome::kTooLate)
        << result.detail;
    EXPECT_EQ(result.is_repeated, is_repeated);
    EXPECT_EQ(result.status, status_) << result.detail;
    if (payment != kept_) due_.insert(payment);
  }

  void cancel() {
    const ChangeResult result = sale_.sale().cancel(order_, "changed my mind");
    const bool is_cancelled = status_ == OrderStatus::kCancelled;
    const bool is_unpaid = status_ == OrderStatus::kUnpaid;
    EXPECT_EQ(result.is_repeated, is_cancelled);
    if (is_unpaid) status_ = OrderStatus::kCancelled;
    EXPECT_EQ(result.outcome,
              is_unpaid || is_cancelled ? ChangeOutcome::kDone : ChangeOutcome::kTooLate)
        << result.detail;
    EXPECT_EQ(result.status, status_);
  }

  /// A worker that finds the voucher lost rebuilds it, and cancels a moment later.
  void time_out() {
    sale_.advance_ms(kPaymentMs);
    const bool was_unpaid = status_ == OrderStatus::kUnpaid;
    std::size_t expired = 0;
    for (int i = 0; i < 3 && is_held(); ++i) {
      expired += sale_.worker(0).step().expired;
      sale_.advance_ms(WorkerOptions{}.retry_after_ms);
    }
    EXPECT_FALSE(is_held());
    EXPECT_GE(expired, was_unpaid ? 1U : 0U);
    if (was_unpaid) status_ = OrderStatus::kCancelled;
  }
  bool is_held(OrderId order) { return is_order_held(sale_.client(), order); }
  bool is_held() { return is_held(order_); }

  /// Notes the other orders of the voucher that a step has cancelled.
  void note_timeouts() {
    for (const auto& [order, due_ms] : others_) {
      if (is_held(order)) continue;
      EXPECT_GE(sale_.now_ms(), due_ms);
      ended_.emplace(order, OrderStatus::kCancelled);
    }
    std::erase_if(others_, [&](const auto& other) { return ended_.contains(other.first); });
  }

  void step(std::size_t worker) {
    const OrderWorker::Step step = sale_.worker(worker).step();
    EXPECT_EQ(step.buried + step.faulted, 0U);
    EXPECT_EQ(step.reason, "");
  }

  void buy(std::int64_t user) {
    note_timeouts();
    const BuyResult result = sale_.sale().buy(voucher_, user);
    const Outcome expected = is_free() ? Outcome::kAccepted : Outcome::kSoldOut;
    EXPECT_EQ(result.outcome, expected) << result.detail << " user " << user;
    if (result.outcome != Outcome::kAccepted) return;
    others_.emplace(result.order, sale_.now_ms() + kPaymentMs);
  }

  void refund() {
    const ChangeResult result = sale_.sale().refund(order_, "broken");
    if (result.outcome == ChangeOutcome::kOverloaded) return;  // something is not stored yet
    const bool is_done = status_ == OrderStatus::kPaid;
    EXPECT_EQ(result.outcome, is_done ? ChangeOutcome::kDone : ChangeOutcome::kTooLate)
        << result.detail;
    if (!is_done) return;
    status_ = OrderStatus::kRefunded;
    due_.insert(kept_);
  }

  void lose_voucher() {
    const SaleKeys keys;
    sale_.client()("DEL", keys.voucher(voucher_), keys.stock(voucher_), keys.buyers(voucher_),
                   keys.days(voucher_), keys.refunds(voucher_));
  }

  void check_orders() {
    std::map<OrderId, OrderStatus> expected = ended_;
    for (const auto& [order, due_ms] : others_) expected.emplace(order, OrderStatus::kUnpaid);
    expected.emplace(order_, status_);
    std::map<OrderId, OrderStatus> stored;
    const auto orders = sale_.orders().list({.voucher = voucher_});
    ASSERT_TRUE(orders.ok()) << orders.status();
    for (const Order& order : *orders) {
      stored.emplace(order.id, order.status);
      EXPECT_EQ(is_held(order.id), order.status == OrderStatus::kUnpaid);
    }
    EXPECT_EQ(stored, expected);
  }

  void check_payments() {
    std::map<std::string, Payment::State> expected;
    for (const std::string& due : due_) expected.emplace(id_of(due), Payment::State::kDue);
    if (!kept_.empty()) expected.emplace(id_of(kept_), Payment::State::kKept);
    std::map<std::string, Payment::State> stored;
    const auto payments = sale_.orders().payments()->list_payments({.order = order_});
    ASSERT_TRUE(payments.ok()) << payments.status();
    for (const Payment& payment : *payments) {
      stored.emplace(payment.id, payment.state);
      EXPECT_EQ(payment.amount_cents, kPrice);
    }
    EXPECT_EQ(stored, expected);
  }

  RaceSale& sale_;
  const VoucherId voucher_;
  OrderId order_ = 0;
  // The model:
  OrderStatus status_ = OrderStatus::kUnpaid;
  std::string kept_;                        // the payment that pays it, or did
  std::set<std::string> due_;               // payments that have to be refunded
  std::map<OrderId, std::int64_t> others_;  // unpaid orders of the voucher, and when they are due
  std::map<OrderId, OrderStatus> ended_;    // … and by the timeout
};

class PaymentRacesTest : public ::testing::TestWithParam<SaleBackendParam> {
 protected:
  void run(RaceSale& sale, const std::vector<Operation>& operations) {
    for (const bool is_stored : {false, true}) {
      std::string trace = is_stored ? "stored" : "queued";
      for (const Operation operation : operations) trace += ", " + std::string(name_of(operation));
      SCOPED_TRACE(trace);
      Race race(sale, is_stored);
      for (const Operation operation : operations) race.run(operation);
      race.check();
      ++races_;
    }
  }

  int races_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Backends, PaymentRacesTest, each_backend(), backend_name);

/// Opening files takes long. There, a restart is one of two operations only, and an ordinary run has
/// fewer of the races of three.
TEST_P(PaymentRacesTest, EveryOrderOfThreeOperationsHasOneWinner) {
  const bool opens_slowly = GetParam()->keeps_orders_in_file;
  testing::Sweep races(/*share=*/opens_slowly ? 12 : 4);
  SCOPED_TRACE(races.seed_text());
  int race = 0;
  int wanted = races.next();
  const auto is_left_out = [&](Operation operation) {
    return opens_slowly && operation == Operation::kRestart;
  };
  // More vouchers would lengthen the audits of a sale by more than its opening takes.
  constexpr VoucherId kVouchersMax = 16;
  std::optional<RaceSale> sale;
  for (const Operation first : kOperations) {
    for (const Operation second : kOperations) {
      if (first == second || HasFailure()) continue;
      if (!sale || sale->vouchers() >= kVouchersMax) sale.emplace(*GetParam());
      run(*sale, {first, second});
      if (is_left_out(first) || is_left_out(second)) continue;
      for (const Operation third : kOperations) {
        if (third == first || third == second || is_left_out(third) || ++race != wanted) continue;
        wanted = races.next();
        run(*sale, {first, second, third});
      }
    }
  }
  RecordProperty("races", races_);
}

}  // namespace
}  // namespace rushgate
