// Random histories of purchases, payments, cancellations, timeouts and refunds, compared with a
// simple model after each step.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/time_units.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "tests/support/random.h"
#include "tests/unit/sale/payments_fixture.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using testing::Random;
using StepKind = OrderWorker::Step::Kind;

constexpr std::int64_t kLookForHoldsMs = 10'000;  // how often an idle worker looks for holds

struct ModelOrder {
  UserId user = {};
  VoucherId voucher = 0;
  std::int64_t quantity = 1;
  std::int64_t amount = 0;
  std::int64_t day = 0;
  std::int64_t due_ms = 0;  // 0: demands no payment
  OrderStatus status = OrderStatus::kCreated;
  bool keeps_stock = false;
  bool keeps_allowance = false;

  [[nodiscard]] std::int64_t taken() const { return is_live(status) || keeps_stock ? quantity : 0; }
  [[nodiscard]] std::int64_t of_user() const {
    return is_live(status) || keeps_allowance ? quantity : 0;
  }
};

struct ModelPayment {
  OrderId order = 0;
  std::int64_t amount = 0;
  Payment::State state = Payment::State::kKept;
  bool has_paid = true;  // its order, which may be refunded since
};

/// The model of a sale. Knows nothing of queues, workers and losses.
class SaleModel {
 public:
  std::map<VoucherId, Voucher> vouchers;
  std::map<OrderId, ModelOrder> orders;
  std::map<std::string, ModelPayment> payments;

  [[nodiscard]] std::int64_t taken(VoucherId voucher) const {
    std::int64_t taken = 0;
    for (const auto& [id, order] : orders) taken += order.voucher == voucher ? order.taken() : 0;
    return taken;
  }
  [[nodiscard]] std::int64_t of_user(VoucherId voucher, const UserId& user,
                                     std::optional<std::int64_t> day) const {
    std::int64_t bought = 0;
    for (const auto& [id, order] : orders) {
      if (order.voucher != voucher || order.user != user) continue;
      if (day.value_or(order.day) == order.day) bought += order.of_user();
    }
    return bought;
  }
  [[nodiscard]] Outcome buy(const BuyRequest& request, std::int64_t now_ms) const {
    const Voucher& voucher = vouchers.at(request.voucher);
    const Limits& limits = voucher.limits;
    const std::int64_t sold = taken(voucher.id) + request.quantity;
    if (sold > voucher.stock) return Outcome::kSoldOut;
    if (limits.total > 0 && sold > limits.total) return Outcome::kSoldOut;
    const auto with = [&](std::optional<std::int64_t> day) {
      return of_user(voucher.id, request.user, day) + request.quantity;
    };
    if (limits.per_user > 0 && with({}) > limits.per_user) return Outcome::kLimitReached;
    const bool is_day_full = limits.per_user_day > 0 && with(now_ms / kDayMs) > limits.per_user_day;
    return is_day_full ? Outcome::kDayLimitReached : Outcome::kAccepted;
  }
  void end(ModelOrder& order, OrderStatus status) const {
    const Voucher& voucher = vouchers.at(order.voucher);
    order.status = status;
    order.keeps_stock = !voucher.restock;
    order.keeps_allowance = !voucher.restore_allowance;
  }
  void make_due(OrderId order) {
    for (auto& [id, payment] : payments) {
      const bool is_kept = payment.state == Payment::State::kKept;
      if (payment.order == order && is_kept) payment.state = Payment::State::kDue;
    }
  }
};

class PaymentModelTest : public PaidSaleTest {
 protected:
  static constexpr std::int64_t kUsers = 6;
  static constexpr std::int64_t kPoisoned = 3;

  void run(std::uint64_t seed, int operations) {
    random_.emplace(seed);
    for (VoucherId id = first_voucher_; id < first_voucher_ + 2; ++id) publish_random(id);
    for (int i = 0; i < operations && !HasFailure(); ++i) {
      SCOPED_TRACE("operation " + std::to_string(i));
      run_one();
      note_timeouts();
    }
    settle();
    first_voucher_ += 2;
  }

 private:
  void run_one() {
    const std::size_t choice = random_->below(100);
    if (choice < 30) return buy();
    if (choice < 47) return pay();
    if (choice < 57) return cancel();
    if (choice < 63) return refund();
    if (choice < 66) return use();
    if (choice < 68) return confirm();
    if (choice < 80) return step();
    if (choice < 86) return backend_.advance_ms(random_->between(1, kPaymentMs / 2));
    if (choice < 89) return publish_random(pick_voucher());
    if (choice < 92) return lose_voucher();
    if (choice < 93) return restart_all();
    if (choice < 96) return audit();
    if (choice < 97) return lose_keyspace();
    if (choice < 98) return next_day();
    return settle();
  }

  // ---- Operations ----

  VoucherId pick_voucher() { return first_voucher_ + static_cast<VoucherId>(random_->below(2)); }

  /// Some users have names.
  UserId pick_user() {
    const auto number = static_cast<std::int64_t>(1 + random_->below(kUsers));
    return number % 3 == 2 ? UserId("user-" + std::to_string(number)) : UserId(number);
  }

  /// Returns one of the orders of this history; 0 if there is none.
  OrderId pick_order() {
    if (recent_.empty()) return 0;
    return random_->pick(recent_);
  }

  void publish_random(VoucherId id) {
    Voucher next = paid_voucher(random_->between(3, 12));
    const bool is_new = !model_.vouchers.contains(id);
    next.id = id;
    next.begin_ms = is_new ? next.begin_ms : model_.vouchers[id].begin_ms;
    next.end_ms = kNeverEndsMs;
    next.price_cents = random_->between(1, 5) * 100;
    next.payment_ms = random_->chance(15) ? 0 : kPaymentMs;
    next.restock = random_->chance(70);
    next.restore_allowance = random_->chance(70);
    next.limits = {.total = random_->chance(30) ? random_->between(1, 10) : 0,
                   .per_user = random_->between(0, 4),
                   .per_user_day = random_->chance(30) ? random_->between(1, 3) : 0};
    absl::Status published = sale_->publish(next);
    if (absl::IsAborted(published)) {  // an interrupted rebuild keeps its claim for a while
      backend_.advance_ms(VoucherRebuilder::kAbandonedMs);
      note_timeouts();
      published = sale_->publish(next);
    }
    if (model_.taken(id) > next.stock) {
      EXPECT_TRUE(absl::IsFailedPrecondition(published)) << published;
      return;
    }
    ASSERT_EQ(published, absl::OkStatus());
    model_.vouchers[id] = next;
  }

  void buy() {
    const BuyRequest request{.voucher = pick_voucher(),
                             .user = pick_user(),
                             .quantity = random_->chance(70) ? 1 : random_->between(1, 3)};
    const std::int64_t now_ms = backend_.clock().now_ms();
    const BuyResult result = sale_->buy(request);
    ASSERT_EQ(outcome_name(result.outcome), outcome_name(model_.buy(request, now_ms)))
        << result.detail;
    if (result.outcome != Outcome::kAccepted) return;
    const Voucher& voucher = model_.vouchers[request.voucher];
    const bool is_unpaid = voucher.payment_ms > 0;
    model_.orders[result.order] = {
        .user = request.user,
        .voucher = request.voucher,
        .quantity = request.quantity,
        .amount = voucher.price_cents * request.quantity,
        .day = now_ms / kDayMs,
        .due_ms = is_unpaid ? now_ms + voucher.payment_ms : 0,
        .status = is_unpaid ? OrderStatus::kUnpaid : OrderStatus::kCreated};
    recent_.push_back(result.order);
  }

  void pay() {
    const OrderId id = pick_order();
    if (id == 0) return;
    ModelOrder& order = model_.orders[id];
    const std::string payment = std::to_string(id) + (random_->chance(60)   ? "-a"
                                                      : random_->chance(50) ? "-b"
                                                                            : "-c");
    const bool is_wrong = random_->chance(10);
    const std::int64_t amount = order.amount + (is_wrong ? 1 : 0);
    const ChangeResult result =
        sale_->pay({.order = id, .payment = payment, .amount_cents = amount});
    const auto known = model_.payments.find(payment);
    if (known != model_.payments.end()) return expect_known(result, known->second, amount);
    if (order.due_ms == 0 || (is_wrong && order.status == OrderStatus::kUnpaid)) {
      EXPECT_EQ(result.outcome, ChangeOutcome::kRefused) << result.detail;
      return;
    }
    const bool is_first = order.status == OrderStatus::kUnpaid;
    if (is_first) order.status = OrderStatus::kPaid;
    EXPECT_EQ(change_outcome_name(result.outcome), is_first ? "done" : "too late") << result.detail;
    EXPECT_FALSE(result.is_repeated);
    EXPECT_EQ(result.status, order.status) << result.detail;
    model_.payments[payment] = {id, amount, is_first ? Payment::State::kKept : Payment::State::kDue,
                                is_first};
  }
  static void expect_known(const ChangeResult& result, const ModelPayment& known,
                           std::int64_t amount) {
    if (known.amount != amount) {
      EXPECT_EQ(result.outcome, ChangeOutcome::kRefused) << result.detail;
      return;
    }
    const std::string_view expected = known.has_paid ? "done" : "too late";
    EXPECT_EQ(change_outcome_name(result.outcome), expected) << result.detail;
    EXPECT_TRUE(result.is_repeated);
  }

  void cancel() {
    const OrderId id = pick_order();
    if (id == 0) return;
    ModelOrder& order = model_.orders[id];
    const ChangeResult result = sale_->cancel(id, "no");
    EXPECT_EQ(result.is_repeated, order.status == OrderStatus::kCancelled);
    if (order.status == OrderStatus::kUnpaid) model_.end(order, OrderStatus::kCancelled);
    const bool is_done = order.status == OrderStatus::kCancelled;
    EXPECT_EQ(change_outcome_name(result.outcome), is_done ? "done" : "too late") << result.detail;
    EXPECT_EQ(result.status, order.status) << result.detail;
  }

  /// Returns true if refund() and use() may succeed. They may be too early for the database.
  static bool is_open(const ModelOrder& order) {
    return order.status == OrderStatus::kCreated || order.status == OrderStatus::kPaid ||
           order.status == OrderStatus::kUsed;
  }

  void refund() {
    const OrderId id = pick_order();
    if (id == 0) return;
    ModelOrder& order = model_.orders[id];
    const ChangeResult result = sale_->refund(id, "broken");
    if (result.outcome == ChangeOutcome::kOverloaded) return;
    const bool is_done = is_open(order) || order.status == OrderStatus::kRefunded;
    EXPECT_EQ(change_outcome_name(result.outcome), is_done ? "done" : "too late") << result.detail;
    if (!is_open(order)) return;
    model_.end(order, OrderStatus::kRefunded);
    model_.make_due(id);
  }

  void use() {
    const OrderId id = pick_order();
    if (id == 0) return;
    ModelOrder& order = model_.orders[id];
    const ChangeResult result = sale_->use(id);
    if (result.outcome == ChangeOutcome::kOverloaded) return;
    EXPECT_EQ(change_outcome_name(result.outcome), is_open(order) ? "done" : "too late")
        << result.detail;
    if (is_open(order)) order.status = OrderStatus::kUsed;
  }

  void confirm() {
    if (model_.payments.empty()) return;
    auto payment = model_.payments.begin();
    std::advance(payment, random_->below(model_.payments.size()));
    const ChangeResult result = sale_->confirm_refund(payment->first);
    const bool is_kept = payment->second.state == Payment::State::kKept;
    if (result.outcome == ChangeOutcome::kDone && !is_kept) {
      payment->second.state = Payment::State::kRefunded;
      return;
    }
    // It pays its order, or is not stored yet, in either state.
    const bool may_be_queued = result.outcome == ChangeOutcome::kOverloaded;
    EXPECT_TRUE(may_be_queued || (is_kept && result.outcome == ChangeOutcome::kRefused))
        << change_outcome_name(result.outcome) << ": " << result.detail;
  }

  // ---- Workers, losses and faults ----

  /// No fault buries an entry here.
  OrderWorker& worker(std::size_t i) {
    constexpr int kManyAttempts = 1'000'000;
    if (!workers_[i]) {
      workers_[i] = make_worker("c" + std::to_string(i),
                                {.batch_max = i == 0 ? 100 : 3, .attempts_max = kManyAttempts});
    }
    return *workers_[i];
  }

  void step() {
    using Poison = faults::FaultyOrderStore::Poison;
    const std::size_t fault = random_->below(8);
    if (fault == 0) backend_.orders().fail_writes();
    if (fault == 1) backend_.orders().fail_write(1, faults::FaultyOrderStore::Kept::kYes);
    if (fault == 2) {
      backend_.orders().poison([](const Order& order) { return order.user == kPoisoned; },
                               random_->chance(50) ? Poison::kFailsTheBatch : Poison::kThrows);
    }
    worker(random_->below(2)).step();
    heal();
  }
  void heal() {
    constexpr int kNever = 1'000'000;
    backend_.orders().fail_writes(absl::OkStatus());
    backend_.orders().fail_write(kNever);
    backend_.orders().poison({});
  }

  void lose_voucher() {
    const SaleKeys keys;
    const VoucherId id = pick_voucher();
    const std::size_t which = random_->below(3);
    if (which == 0) backend_.client()("DEL", keys.stock(id));
    if (which == 1) backend_.client()("DEL", keys.voucher(id), keys.stock(id), keys.buyers(id));
    if (which == 2) lose_vouchers_and_holds();
    rebuild(id);
  }
  void lose_vouchers_and_holds() {
    const SaleKeys keys;
    for (const auto& [id, voucher] : model_.vouchers) {
      backend_.client()("DEL", keys.voucher(id), keys.stock(id), keys.buyers(id), keys.days(id),
                        keys.refunds(id));
    }
    backend_.client()("DEL", keys.held(), keys.deadlines());
  }
  /// A purchase that is too large rebuilds a lost voucher.
  void rebuild(VoucherId id) {
    if (random_->chance(30)) return;  // later, by any call
    const BuyResult none = sale_->buy({.voucher = id, .user = 99, .quantity = 1'000});
    EXPECT_EQ(none.outcome, Outcome::kSoldOut) << none.detail;
  }

  /// Only after everything is stored: otherwise accepted orders are lost.
  void lose_keyspace() {
    settle();
    backend_.client()("FLUSHALL");
  }

  void restart_all() {
    for (auto& worker : workers_) worker.reset();
    restart();
  }

  void next_day() {
    settle();
    backend_.advance_ms(kDayMs);
  }

  /// Notes the orders that timed out. None does before it is due.
  void note_timeouts() {
    for (auto& [id, order] : model_.orders) {
      if (order.status != OrderStatus::kUnpaid) continue;
      if (order.due_ms > backend_.clock().now_ms()) continue;
      if (has_ended(id)) model_.end(order, OrderStatus::kCancelled);
    }
  }
  bool has_ended(OrderId id) {
    const auto hold = find_hold(backend_.client(), SaleKeys{}, id);
    EXPECT_TRUE(hold.ok()) << hold.status();
    if (hold->has_value() && (*hold)->ended) return true;
    const auto order = backend_.orders().find(id);
    return order.ok() && order->has_value() && (*order)->status == OrderStatus::kCancelled;
  }

  // ---- Comparing ----

  /// Audits at any moment. A voucher that is lost at the moment is rebuilt first.
  void audit() {
    for (VoucherId id = first_voucher_; id < first_voucher_ + 2; ++id) {
      const BuyResult none = sale_->buy({.voucher = id, .user = 99, .quantity = 1'000});
      EXPECT_EQ(none.outcome, Outcome::kSoldOut) << none.detail;
    }
    expect_audit_passes();
  }

  /// Stores everything and lets due orders time out. Then all must be as in the model.
  void settle() {
    constexpr int kRounds = 5;
    heal();
    for (int i = 0; i < kRounds; ++i) {
      drain(worker(0));
      drain(worker(1));
      backend_.advance_ms(i == 0 ? WorkerOptions{}.claim_idle_ms : kLookForHoldsMs);
    }
    note_timeouts();
    audit();
    const auto letters = sale_->dead_letters();
    ASSERT_TRUE(letters.ok()) << letters.status();
    for (const DeadLetter& letter : *letters) {
      ADD_FAILURE() << "buried: " << letter.reason << ": "
                    << ::testing::PrintToString(letter.order.fields);
    }
    compare_orders();
    compare_payments();
    for (const auto& [id, voucher] : model_.vouchers) {
      const auto summary = sale_->summary(id);
      ASSERT_TRUE(summary.ok() && summary->has_value()) << summary.status();
      EXPECT_EQ((*summary)->free, voucher.stock - model_.taken(id)) << "voucher " << id;
    }
    EXPECT_EQ(count_ended_holds(backend_.client()), 0);
    EXPECT_EQ(count_unstored_payments(backend_.client()), 0);
    recent_.erase(recent_.begin(),
                  recent_.end() - std::min<std::ptrdiff_t>(std::ssize(recent_), 12));
  }

  void compare_orders() {
    std::map<OrderId, ModelOrder> left = model_.orders;
    const std::int64_t now_ms = backend_.clock().now_ms();
    const auto compare = [&](const Order& order) {
      const auto found = left.find(order.id);
      ASSERT_NE(found, left.end()) << "an order that was never accepted: " << order.id;
      EXPECT_EQ(order_status_name(order.status), order_status_name(found->second.status))
          << "order " << order.id;
      EXPECT_EQ(order.quantity, found->second.quantity);
      EXPECT_EQ(amount_of(order), found->second.amount);
      EXPECT_EQ(order.keeps_stock, found->second.keeps_stock) << order.id;
      EXPECT_EQ(order.keeps_allowance, found->second.keeps_allowance) << order.id;
      const bool is_overdue =
          order.status == OrderStatus::kUnpaid && order.due_at_ms + kLookForHoldsMs < now_ms;
      EXPECT_FALSE(is_overdue) << "order " << order.id;
      left.erase(found);
    };
    EXPECT_EQ(for_each_order(backend_.orders(), {}, compare), absl::OkStatus());
    EXPECT_EQ(left.size(), 0U) << "accepted orders that are not stored";
  }

  void compare_payments() {
    std::map<std::string, ModelPayment> left = model_.payments;
    const auto compare = [&](const Payment& payment) {
      const auto found = left.find(payment.id);
      ASSERT_NE(found, left.end()) << payment.id;
      EXPECT_EQ(payment_state_name(payment.state), payment_state_name(found->second.state))
          << payment.id;
      EXPECT_EQ(payment.amount_cents, found->second.amount);
      left.erase(found);
    };
    EXPECT_EQ(for_each_payment(backend_.orders(), {}, compare), absl::OkStatus());
    EXPECT_EQ(left.size(), 0U) << "payments that are not stored";
  }

  std::optional<Random> random_;
  SaleModel model_;
  VoucherId first_voucher_ = 1;
  std::vector<OrderId> recent_;
  std::array<std::unique_ptr<OrderWorker>, 2> workers_;
};
INSTANTIATE_TEST_SUITE_P(Backends, PaymentModelTest, each_backend(), backend_name);

TEST_P(PaymentModelTest, RandomHistoryIsThatOfModel) {
  constexpr int kOperations = 500;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  run(seed, kOperations);
}

}  // namespace
}  // namespace rushgate
