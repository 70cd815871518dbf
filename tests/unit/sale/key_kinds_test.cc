// Every kind of key of a sale: how it looks after a loss, a rebuild and an archiving. The table of
// docs/format.md has the same rows.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/patterns.h"
#include "tests/unit/sale/documents.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

/// One kind. A cell that begins with "gone" says that there is no such key then.
struct KeyKind {
  std::string_view name;                // in SaleKeys
  std::string (*key)(const SaleKeys&);  // of voucher 1; a pattern of KEYS
  std::string_view emptied;             // after the keyspace lost everything, and the next purchase
  std::string_view older;               // after it came back older, and the next purchase
  std::string_view rebuilt;             // after a rebuild alone
  std::string_view archived;
};

constexpr KeyKind kKinds[] = {
    {"id_prefix", [](const SaleKeys& keys) { return keys.id_prefix + "*"; },
     "gone: the next counter is above all reserved ones", "the same, if it is older", "kept",
     "kept"},
    {"order_stream", [](const SaleKeys& keys) { return keys.order_stream; },
     "gone: a worker restores the orders that it has read",
     "older: entries come again, and are known by their ids", "kept", "kept"},
    {"voucher", [](const SaleKeys& keys) { return keys.voucher(1); }, "rebuilt", "rebuilt",
     "rebuilt", "gone"},
    {"vouchers", [](const SaleKeys& keys) { return keys.vouchers(); }, "rebuilt", "completed",
     "kept", "without the voucher"},
    {"stock", [](const SaleKeys& keys) { return keys.stock(1); }, "rebuilt", "rebuilt", "rebuilt",
     "gone"},
    {"buyers", [](const SaleKeys& keys) { return keys.buyers(1); }, "rebuilt", "rebuilt", "rebuilt",
     "gone"},
    {"days", [](const SaleKeys& keys) { return keys.days(1); }, "rebuilt", "rebuilt", "rebuilt",
     "gone"},
    {"request", [](const SaleKeys& keys) { return keys.request("click"); }, "rebuilt", "completed",
     "completed", "kept until it expires"},
    {"purchase_tokens", [](const SaleKeys& keys) { return keys.purchase_tokens() + "*"; },
     "gone: new ones can be issued", "older: a spent token may be valid again", "kept",
     "kept until they expire"},
    {"lost_requests", [](const SaleKeys& keys) { return keys.lost_requests(); },
     "gone: all keys were restored first", "gone: all keys were restored first",
     "gone: all keys were restored first", "kept"},
    {"held", [](const SaleKeys& keys) { return keys.held(); }, "rebuilt", "corrected", "corrected",
     "without the voucher's"},
    {"deadlines", [](const SaleKeys& keys) { return keys.deadlines(); }, "rebuilt", "completed",
     "completed", "without the voucher's"},
    {"payments", [](const SaleKeys& keys) { return keys.payments(); },
     "gone: the database has the stored ones", "older: their events come again, and are known",
     "kept", "kept for a minute"},
    {"stored_payments", [](const SaleKeys& keys) { return keys.stored_payments(); },
     "gone, with the payments", "older, as the payments", "kept", "kept for a minute"},
    {"refunds", [](const SaleKeys& keys) { return keys.refunds(1); },
     "gone: the database has the refunds", "gone", "gone", "gone"},
    {"waiting", [](const SaleKeys& keys) { return keys.waiting(1); }, "gone: users may wait again",
     "gone", "kept", "gone"},
    {"waiting_orders", [](const SaleKeys& keys) { return keys.waiting_orders(1); },
     "gone, with the list", "gone: such an id may be used", "kept", "gone"},
    {"stream_owner", [](const SaleKeys& keys) { return keys.stream_owner(); }, "claimed once more",
     "raised to the database's checkpoint", "kept",
     "raised, so that a loss of the removals is noticed"},
    {"applied_versions", [](const SaleKeys& keys) { return keys.applied_versions(); },
     "gone: the database has the versions", "older: the database has the others", "kept",
     "kept: archived vouchers are left out"},
    {"prefix_owner", [](const SaleKeys& keys) { return keys.prefix_owner(); }, "claimed once more",
     "kept", "kept", "kept"},
    {"dead_letters", [](const SaleKeys& keys) { return keys.dead_letters(); },
     "gone: their orders are sold again", "older: a retry finds a stored order", "kept",
     "kept: the voucher has none"},
    {"dead_letter_orders", [](const SaleKeys& keys) { return keys.dead_letter_orders(); },
     "gone, with the letters", "older, as the letters", "kept",
     "kept until the orders are deleted"},
    {"discarded_letters", [](const SaleKeys& keys) { return keys.discarded_letters(); }, "gone",
     "older: discard them once more", "kept", "kept until the orders are deleted"},
    {"faults", [](const SaleKeys& keys) { return keys.faults(); }, "gone: they are counted afresh",
     "older", "kept", "kept: the voucher has none"},
};

/// Returns the names of the members of SaleKeys that name a key.
std::set<std::string> names_in_header() {
  std::string text = document("engine/sale/include/rushgate/sale_keys.h");
  text.resize(text.find(" private:"));
  std::set<std::string> names = {"id_prefix", "order_stream"};
  for (const std::string& name : testing::find_all(text, R"(std::string (\w+)\([^)]*\) const)")) {
    names.insert(name);
  }
  return names;
}

TEST(KeyKindsTest, EveryKindOfHeaderHasRow) {
  std::set<std::string> names;
  for (const KeyKind& kind : kKinds) names.emplace(kind.name);
  EXPECT_EQ(names, names_in_header());
}

TEST(KeyKindsTest, RowsAreDocumented) {
  std::string table;
  for (const KeyKind& kind : kKinds) {
    table += concat("| `", kind.name, "` | ", kind.emptied, " | ", kind.older, " | ", kind.rebuilt,
                    " | ", kind.archived, " |\n");
  }
  EXPECT_NE(document("docs/format.md").find(table), std::string::npos)
      << "docs/format.md must have this:\n"
      << table;
}

/// A sale with keys of every kind.
class KeyKindsOfSaleTest : public PaidSaleTest {
 protected:
  void prepare() {
    Voucher first = paid_voucher(3);
    first.limits.per_user_day = 2;
    first.waiting_max = 5;
    ASSERT_TRUE(sale_->publish(first).ok());
    Voucher second = paid_voucher();
    second.id = 2;
    ASSERT_TRUE(sale_->publish(second).ok());
    EXPECT_EQ(buy(2, 1), Outcome::kAccepted);

    const BuyResult refunded = sale_->buy(1, 1, "click");
    ASSERT_EQ(pay(refunded.order, "p1").outcome, ChangeOutcome::kDone);
    for (int letter = 0; letter < 2; ++letter)
      backend_.client()("XADD", "stream.orders", "*", "a", "b");
    drain();
    ASSERT_EQ(sale_->refund(refunded.order, "broken").outcome, ChangeOutcome::kDone);
    const std::vector<DeadLetter> letters = sale_->dead_letters().value();
    ASSERT_EQ(letters.size(), 2U);
    ASSERT_TRUE(sale_->discard_dead_letter(letters[0].id, "no order").value());
    for (const std::int64_t user : {2, 3, 4}) unpaid_.push_back(bought(user));
    drain();
    EXPECT_EQ(sale_->wait_for(1, 5).outcome, WaitOutcome::kWaiting);
    backend_.client()("SET", SaleKeys{}.purchase_tokens() + "1:7", "a token");
    backend_.client()("HSET", SaleKeys{}.faults(), "9-9", 1);
    backend_.client()("HSET", SaleKeys{}.dead_letter_orders(), 1, "dead 1-1");
    backend_.client()("HSET", SaleKeys{}.lost_requests(), "loss", "of somebody");
  }

  bool is_there(const KeyKind& kind) {
    return !backend_.client()("KEYS", kind.key(SaleKeys{})).elements().empty();
  }
  void expect_as(std::string_view KeyKind::*cell) {
    for (const KeyKind& kind : kKinds) {
      const std::string_view text = kind.*cell;
      EXPECT_EQ(is_there(kind), !text.starts_with("gone")) << kind.name << ": " << text;
    }
  }
  void expect_all() {
    for (const KeyKind& kind : kKinds) EXPECT_TRUE(is_there(kind)) << kind.name;
  }

  std::vector<OrderId> unpaid_;
};
INSTANTIATE_TEST_SUITE_P(Backends, KeyKindsOfSaleTest, each_backend(), backend_name);

/// Excludes memory: such a keyspace has no older state to return to.
class KeyKindsOfOlderTest : public KeyKindsOfSaleTest {};
INSTANTIATE_TEST_SUITE_P(Backends, KeyKindsOfOlderTest,
                         each_backend_that(&SaleBackendKind::can_roll_back), backend_name);

TEST_P(KeyKindsOfSaleTest, EmptiedKeyspaceIsAsDocumented) {
  prepare();
  expect_all();
  backend_.client()("FLUSHALL");
  EXPECT_EQ(buy(1, 99), Outcome::kSoldOut);
  EXPECT_EQ(buy(2, 1), Outcome::kLimitReached);
  expect_as(&KeyKind::emptied);
}

TEST_P(KeyKindsOfOlderTest, OlderKeyspaceIsAsDocumented) {
  prepare();
  expect_all();
  save();
  EXPECT_EQ(buy(2, 2), Outcome::kAccepted);
  drain();
  roll_back();
  EXPECT_EQ(buy(1, 99), Outcome::kSoldOut);
  expect_as(&KeyKind::older);
}

TEST_P(KeyKindsOfSaleTest, RebuiltVoucherIsAsDocumented) {
  prepare();
  backend_.client()("DEL", SaleKeys{}.stock(1));
  EXPECT_EQ(buy(1, 99), Outcome::kSoldOut);
  expect_as(&KeyKind::rebuilt);
}

TEST_P(KeyKindsOfSaleTest, ArchivedVoucherIsAsDocumented) {
  prepare();
  ASSERT_TRUE(sale_->close(1).ok());
  for (const OrderId order : unpaid_) {
    EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  }
  drain();
  ASSERT_EQ(sale_->confirm_refund("p1").outcome, ChangeOutcome::kDone);
  ASSERT_EQ(sale_->archive(1), absl::OkStatus());
  expect_as(&KeyKind::archived);
}

}  // namespace
}  // namespace rushgate
