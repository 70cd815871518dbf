// The reads that find an order's dead letter, and the index of dead letters.
#include "engine/sale/stream/dead_letters.h"

#include <gmock/gmock.h>

#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

class DeadLettersTest : public SaleTest {
 protected:
  static constexpr OrderId kFirst = 1'000'000;

  DeadLettersTest() { EXPECT_TRUE(sale_->publish(voucher(1, 100)).ok()); }

  /// Buries an order like an earlier version, without an index.
  static Request letter_of(OrderId order) {
    return Request::of("XADD", "stream.orders.dead", "*", "entry", "5-1", "reason", "refused",
                       "userId", order, "voucherId", 1, "id", order, "limit", 1);
  }

  void bury_as_earlier_version(OrderId first, OrderId count) {
    std::vector<Request> requests;
    for (OrderId order = first; order < first + count; ++order) {
      requests.push_back(letter_of(order));
    }
    for (const Reply& reply : backend_.client().pipeline(requests)) ASSERT_TRUE(reply.is_text());
  }

  /// Buys for users 1 … `count`. The database refuses each order.
  std::vector<OrderId> die(std::int64_t count) {
    backend_.orders().poison([](const Order& /*order*/) { return true; },
                             faults::FaultyOrderStore::Poison::kIsRefused);
    std::vector<OrderId> orders;
    for (std::int64_t user = 1; user <= count; ++user) orders.push_back(sale_->buy(1, user).order);
    drain();
    backend_.orders().poison(nullptr);
    return orders;
  }

  OrderLocation status(OrderId order) {
    const auto state = sale_->status(order);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->location : OrderLocation::kUnknown;
  }

  /// Returns the number of range reads of streams since the last call, inside and outside scripts.
  std::int64_t take_ranges_read() {
    const std::string stats = backend_.client()("INFO", "commandstats").text();
    backend_.client()("CONFIG", "RESETSTAT");
    constexpr std::string_view kRow = "cmdstat_xrange:calls=";
    const std::size_t at = stats.find(kRow);
    return at == std::string::npos ? 0 : std::stoll(stats.substr(at + kRow.size()));
  }

  Reply indexed(OrderId order) {
    return backend_.client()("HGET", "stream.orders.dead.orders", order);
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, DeadLettersTest, each_backend(), backend_name);

TEST_P(DeadLettersTest, OneOfTenThousandIsFoundDirectly) {
  constexpr OrderId kLetters = 10'000;
  bury_as_earlier_version(kFirst, kLetters);
  open();  // builds the index
  // One for the letter, or one beyond the indexed part of each stream. Each returns at most one
  // entry.
  constexpr std::int64_t kRangesMax = 2;
  take_ranges_read();
  for (const OrderId order : {kFirst, kFirst + kLetters / 2, kFirst + kLetters - 1}) {
    EXPECT_TRUE(find_dead_letter(backend_.client(), SaleKeys{}, order)->has_value());
    EXPECT_LE(take_ranges_read(), kRangesMax);
    EXPECT_EQ(status(order), OrderLocation::kDeadLetter);
    EXPECT_LE(take_ranges_read(), kRangesMax);
  }
  EXPECT_FALSE(find_dead_letter(backend_.client(), SaleKeys{}, 5)->has_value());
  EXPECT_LE(take_ranges_read(), kRangesMax);
}

TEST_P(DeadLettersTest, IndexFollowsBuryRetryAndDiscard) {
  const std::vector<OrderId> orders = die(3);
  const auto letters = *sale_->dead_letters();
  ASSERT_EQ(letters.size(), 3U);
  take_ranges_read();
  EXPECT_EQ(indexed(orders[0]), Reply::bulk("dead " + letters[0].id));
  ASSERT_TRUE(*sale_->retry_dead_letter(letters[0].id));
  EXPECT_TRUE(indexed(orders[0]).is_nil());
  EXPECT_EQ(status(orders[0]), OrderLocation::kQueued);
  ASSERT_TRUE(*sale_->discard_dead_letter(letters[1].id, "why"));
  EXPECT_EQ(indexed(orders[1]), Reply::bulk("discarded " + sale_->discarded_letters()->at(0).id));
  EXPECT_EQ(status(orders[1]), OrderLocation::kDeadLetter);
  EXPECT_EQ(status(orders[2]), OrderLocation::kDeadLetter);
  drain();
  EXPECT_EQ(status(orders[0]), OrderLocation::kStored);
  expect_audit_passes();
}

TEST_P(DeadLettersTest, EarlierVersionsLettersAreIndexedOnce) {
  constexpr OrderId kLetters = 2'500;  // a batch is 1,000
  bury_as_earlier_version(kFirst, kLetters);
  EXPECT_EQ(status(kFirst + kLetters - 1), OrderLocation::kDeadLetter);
  take_ranges_read();
  for (OrderId order = kFirst; order < kFirst + 10; ++order) {
    EXPECT_EQ(status(order), OrderLocation::kDeadLetter);
  }
  EXPECT_LE(take_ranges_read(), 10);
}

TEST_P(DeadLettersTest, DeadLetterOfEarlierVersionIsVisible) {
  die(1);
  bury_as_earlier_version(kFirst, 1);
  const OrderId order = die(2).back();
  EXPECT_EQ(status(order), OrderLocation::kDeadLetter);
  EXPECT_EQ(status(kFirst), OrderLocation::kDeadLetter);
  EXPECT_EQ(status(kFirst + 1), OrderLocation::kUnknown);
}

TEST_P(DeadLettersTest, IndexRepairsEarlierVersionsMoves) {
  const std::vector<OrderId> orders = die(3);
  const auto letters = *sale_->dead_letters();
  Client& client = backend_.client();
  // The earlier version discards the first and retries the second.
  client("XADD", "stream.orders.discarded", "*", "dead", letters[0].id, "why", "old", "entry",
         letters[0].entry, "reason", letters[0].reason, "userId", 1, "voucherId", 1, "id",
         orders[0], "limit", 1);
  client("XDEL", "stream.orders.dead", letters[0].id);
  client("XADD", "stream.orders", "*", "userId", 2, "voucherId", 1, "id", orders[1], "limit", 1,
         "admitted", letters[1].entry);
  client("XDEL", "stream.orders.dead", letters[1].id);
  EXPECT_EQ(sale_->status(orders[0])->reason, letters[0].reason + "; discarded: old");
  EXPECT_EQ(status(orders[1]), OrderLocation::kQueued);
  EXPECT_TRUE(indexed(orders[1]).is_nil());
  drain();
  EXPECT_EQ(status(orders[1]), OrderLocation::kStored);
  EXPECT_EQ(status(orders[2]), OrderLocation::kDeadLetter);
  expect_audit_passes();
}

TEST_P(DeadLettersTest, LostIndexIsRebuilt) {
  const std::vector<OrderId> orders = die(2);
  ASSERT_TRUE(*sale_->discard_dead_letter(sale_->dead_letters()->at(0).id, "why"));
  backend_.client()("DEL", "stream.orders.dead.orders");
  for (const OrderId order : orders) EXPECT_EQ(status(order), OrderLocation::kDeadLetter);
}

TEST_P(DeadLettersTest, InvalidEntryKeepsLookupsCorrect) {
  backend_.client()("XADD", "stream.orders", "*", "id", "dead_to");
  backend_.client()("XADD", "stream.orders", "*", "userId", "5");
  drain();
  EXPECT_EQ(sale_->dead_letters()->size(), 2U);
  const OrderId order = die(1).front();
  EXPECT_EQ(status(order), OrderLocation::kDeadLetter);
}

}  // namespace
}  // namespace rushgate
