// The scripts of admission and payments and their native implementations give equal results for arguments that no
// honest caller sends. Random calls run the scripts on each backend, and the native implementations on
// an engine in memory. Every reply and key is compared.
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/testing/keyspace_contents.h"
#include "engine/core/base/concat.h"
#include "engine/sale/scripts/admission.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "tests/unit/sale/native_sides.h"
#include <rushgate/payment_store.h>
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using Words = std::vector<std::string>;

/// Returns a reply without the messages of errors, which name lines of Lua.
Reply without_messages(const Reply& reply) {
  if (reply.is_error()) return Reply::error("");
  if (!reply.is_aggregate()) return reply;
  std::vector<Reply> elements;
  for (const Reply& element : reply.elements()) elements.push_back(without_messages(element));
  return Reply::array(std::move(elements));
}

/// Calls both sides with the same arguments.
class HostileCaller {
 public:
  HostileCaller(std::mt19937_64& random, const SaleBackendKind& kind)
      : random_(random), lua_(lua_side_on(kind)) {
    const std::int64_t now_ms = lua_.keyspace.clock().now_ms();
    for (const VoucherId id : {1, 2}) {
      const Voucher voucher{.id = id,
                            .stock = 6,
                            .end_ms = now_ms + 10'000'000,
                            .price_cents = kPrice,
                            .limits = {.total = id == 1 ? 0 : 5, .per_user = 2, .per_user_day = 2},
                            .payment_ms = 60'000};
      for (Side* const side : sides_) EXPECT_EQ(side->sale->publish(voucher), absl::OkStatus());
    }
    // The native script decides on the users of a call together.
    const Voucher one_each{.id = kOneEach,
                           .stock = 6,
                           .end_ms = now_ms + 10'000'000,
                           .price_cents = kPrice,
                           .payment_ms = 60'000};
    for (Side* const side : sides_) EXPECT_EQ(side->sale->publish(one_each), absl::OkStatus());
  }

  void step() {
    switch (below(9)) {
      case 0:
      case 1:
        return buy();
      case 2:
        return pay_all();
      case 3:
        return change();
      case 4:
        for (Side* const side : sides_) side->keyspace.advance_ms(20'000);
        return run(payment_scripts::find_due(), {keys_.deadlines(), keys_.held()},
                   {concat(below(3)), concat(below(5))});
      case 5:
        return cancel();
      case 7:
        return admit_several();
      case 6:
        return run(payment_scripts::remove_held(), {keys_.held()}, {pick(kNoOrders)});
      default:
        return pay();
    }
  }

  void compare() {
    const auto contents = [&](Side& side) {
      testing::KeyspaceContents all = testing::read_contents(*side.client);
      all.erase(keys_.stream_owner());  // they have the identity of the database
      all.erase(keys_.prefix_owner());
      return all;
    };
    ASSERT_EQ(contents(lua_), contents(native_));
  }

 private:
  static constexpr VoucherId kOneEach = 3;
  static constexpr std::int64_t kPrice = 250;
  static constexpr std::array<std::string_view, 12> kNoOrders = {
      "", "-5", "-", "+7", " 7", "7 ", "abc1", "1e3", "0x1", "12\n", "%d", "1\xff"};
  static constexpr std::array<std::string_view, 5> kUnknownOrders = {
      "0", "5", "007", "9223372036854775808", "99999999999999999999999999"};
  static constexpr std::array<std::string_view, 10> kAmounts = {
      "250", "250", "-250", "0250", "250.0", "", "2.5e2", "9223372036854775807", "x", "250\n"};
  static constexpr std::array<std::string_view, 9> kPayments = {
      "p1", "p2", "p3", "p4", "%d+", "a\nb", "=", "paid", "\xff\x01"};
  static constexpr std::array<std::string_view, 6> kTexts = {"user",        "",  "no reason",
                                                             "5 1 250 1 2", "=", "two\nlines"};

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  std::string pick(std::span<const std::string_view> from) {
    return std::string(from[static_cast<std::size_t>(below(std::ssize(from)))]);
  }
  OrderId pick_bought() {
    return bought_.empty() ? 7 : bought_[static_cast<std::size_t>(below(std::ssize(bought_)))];
  }
  std::string pick_order() {
    switch (below(5)) {
      case 0:
        return pick(kNoOrders);
      case 1:
        return pick(kUnknownOrders);
      case 2:
        return concat("0", pick_bought());
      default:
        return concat(pick_bought());
    }
  }
  /// Returns an id as the calls of the sale take it.
  OrderId pick_order_id() {
    constexpr std::array<OrderId, 4> kNone = {0, -1, -730, std::numeric_limits<OrderId>::min()};
    return below(3) > 0 ? pick_bought() : kNone[static_cast<std::size_t>(below(4))];
  }

  void run(const Script& script, const Words& keys, const Words& arguments) {
    const std::vector<std::string_view> names(keys.begin(), keys.end());
    const std::vector<std::string_view> words(arguments.begin(), arguments.end());
    const Reply first = lua_.client->run(script, names, words);
    const Reply second = native_.client->run(script, names, words);
    ASSERT_EQ(without_messages(first), without_messages(second))
        << ::testing::PrintToString(arguments) << '\n'
        << to_debug_string(first) << '\n'
        << to_debug_string(second);
  }

  void buy() {
    const std::int64_t user = 1 + below(6);
    const VoucherId voucher = 1 + below(2);
    const BuyResult first = lua_.sale->buy(voucher, user);
    const BuyResult second = native_.sale->buy(voucher, user);
    ASSERT_EQ(outcome_name(first.outcome), outcome_name(second.outcome));
    ASSERT_EQ(first.order, second.order);
    if (first.outcome == Outcome::kAccepted) bought_.push_back(first.order);
  }

  /// Runs the script as no sale does: with order ids of any form. A number comes once only: a hold
  /// has one voucher and one deadline.
  void admit_several() {
    const UserId user(1 + below(12));
    const VoucherId voucher = below(3) > 0 ? kOneEach : 1;
    const OrderId order = ++next_order_;
    bought_.push_back(order);
    Words more;
    for (std::int64_t left = below(4); left > 0; --left) {
      more.push_back(below(5) == 0 ? "ada" : concat(below(14) - 1));
      more.push_back(below(3) > 0 ? concat(++next_order_) : pick(kNoOrders));
    }
    std::vector<Reply> replies;
    for (Side* const side : sides_) {
      Request request =
          AdmissionRequests(*side->client, keys_, 1)
              .make({voucher}, std::vector<AdmissionRequests::Buyer>{{&user, order, {}}});
      for (const std::string& word : more) request.add(word);
      replies.push_back(side->client->run_all(admission_script(), {&request, 1}).front());
    }
    ASSERT_EQ(without_messages(replies[0]), without_messages(replies[1]))
        << ::testing::PrintToString(more) << '\n'
        << to_debug_string(replies[0]) << '\n'
        << to_debug_string(replies[1]);
  }

  void pay() {
    Words arguments;
    for (std::int64_t left = 1 + below(5); left > 0; --left) {
      arguments.push_back(pick_order());
      arguments.push_back(pick(kPayments));
      arguments.push_back(pick(kAmounts));
    }
    run(payment_scripts::pay(),
        {keys_.held(), keys_.payments(), keys_.order_stream, keys_.dead_letter_orders()},
        arguments);
  }

  void pay_all() {
    std::vector<PayRequest> requests(static_cast<std::size_t>(1 + below(4)));
    for (PayRequest& request : requests) {
      request = {.order = pick_order_id(),
                 .payment = pick(kPayments),
                 .amount_cents = below(3) > 0 ? kPrice : below(500) - 250};
    }
    const auto first = lua_.sale->pay_all(requests);
    const auto second = native_.sale->pay_all(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) expect_same(first[i], second[i]);
  }

  void cancel() {
    Words arguments = {concat(1 + below(3)), concat(below(2)), pick(kTexts), pick(kTexts)};
    for (std::int64_t left = 1 + below(4); left > 0; --left) arguments.push_back(pick_order());
    const VoucherId voucher = arguments.front()[0] - '0';
    run(payment_scripts::cancel(),
        {keys_.voucher(voucher), keys_.stock(voucher), keys_.buyers(voucher), keys_.days(voucher),
         keys_.deadlines(), keys_.held(), keys_.order_stream, keys_.waiting(voucher),
         keys_.waiting_orders(voucher)},
        arguments);
  }

  void change() {
    const OrderId order = pick_order_id();
    const std::string text = pick(kTexts);
    expect_same(lua_.sale->cancel(order, text), native_.sale->cancel(order, text));
    expect_same(lua_.sale->use(order, text), native_.sale->use(order, text));
    expect_same(lua_.sale->refund(order, text), native_.sale->refund(order, text));
  }

  static void expect_same(const ChangeResult& first, const ChangeResult& second) {
    ASSERT_EQ(change_outcome_name(first.outcome), change_outcome_name(second.outcome))
        << first.detail << '\n'
        << second.detail;
    ASSERT_EQ(first.detail, second.detail);
    ASSERT_EQ(first.is_repeated, second.is_repeated);
    ASSERT_NE(first.outcome, ChangeOutcome::kFailed) << first.detail;
  }

  const SaleKeys keys_;
  std::mt19937_64& random_;
  Side lua_;
  Side native_ = native_side();
  const std::array<Side*, 2> sides_ = {&lua_, &native_};
  std::vector<OrderId> bought_;
  OrderId next_order_ = 9'000'000;  // of admit_several()
};

class HostileArgumentsTest : public ::testing::TestWithParam<SaleBackendParam> {};
INSTANTIATE_TEST_SUITE_P(Backends, HostileArgumentsTest, each_backend(), backend_name);

TEST_P(HostileArgumentsTest, ScriptsAndNativeAgree) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int history = 0; history < 6; ++history) {
    HostileCaller caller(random, *GetParam());
    for (int step = 0; step < 100; ++step) {
      SCOPED_TRACE(concat("history ", history, " step ", step));
      caller.step();
      if (step % 4 == 0) caller.compare();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace rushgate
