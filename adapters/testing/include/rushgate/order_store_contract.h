// The contract of OrderStore as a test suite. Include this in one file of a test program, and
// instantiate OrderStoreTest with a way to make your store:
//
//   namespace rushgate::order_store_contract {
//   INSTANTIATE_TEST_SUITE_P(Mine, OrderStoreTest, ::testing::Values(Maker{"Mine", make_mine}));
//   }
//
// A store with payments() sets Maker::keeps_payments, and instantiates the suite of
// payment_store_contract.h too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {

/// Prints an order for GoogleTest.
inline void PrintTo(const Order& order, std::ostream* out) {
  *out << "order " << order.id << " (user " << order.user << ", voucher " << order.voucher
       << ", status " << static_cast<int>(order.status) << ", limit " << order.limit << ", at "
       << order.admitted_at_ms << ", entry " << order.entry.to_string() << ", created at "
       << order.created_at_ms << ", version " << order.version << ", price " << order.price_cents
       << ", quantity " << order.quantity << ", due at " << order.due_at_ms << ", reference \""
       << order.reference << "\", idempotency key \"" << order.idempotency_key << "\" until "
       << order.key_expires_at_ms << (order.keeps_stock ? ", keeps stock" : "")
       << (order.keeps_allowance ? ", keeps allowance" : "") << ")";
}

namespace order_store_contract {

/// A new, empty order store, and everything that it needs.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual OrderStore& store() = 0;
  /// Closes the store and opens it again, as a new process does. Returns false if the store is lost
  /// with its process.
  virtual bool reopen() { return false; }
};

struct Maker {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;
  bool keeps_payments = false;  // OrderStore::payments() is not null

  friend void PrintTo(const Maker& maker, std::ostream* out) { *out << maker.name; }
};

inline std::string name_of(const ::testing::TestParamInfo<Maker>& info) { return info.param.name; }

/// Selects the orders that meet these conditions. An empty condition always holds.
inline OrderFilter filter_of(std::optional<UserId> user, std::optional<VoucherId> voucher = {},
                             std::optional<OrderStatus> status = {}) {
  OrderFilter filter;
  filter.user = user;
  filter.voucher = voucher;
  filter.status = status;
  return filter;
}
inline OrderFilter at_most(std::size_t count) {
  OrderFilter filter;
  filter.count_max = count;
  return filter;
}
inline constexpr std::nullopt_t kAny = std::nullopt;
/// A status that counts against no limit.
inline constexpr auto kNotLive = OrderStatus{200};

class OrderStoreTest : public ::testing::TestWithParam<Maker> {
 protected:
  using Kind = OrderResult::Kind;

  static constexpr VoucherId kVoucher = 7;
  static constexpr auto kMax = std::numeric_limits<std::int64_t>::max();

  /// An order with a new id and entry.
  Order order(std::int64_t user, std::int64_t limit = 1, VoucherId voucher = kVoucher) {
    const OrderId id = ++last_id_;
    return {.id = id,
            .user = user,
            .voucher = voucher,
            .limit = limit,
            .admitted_at_ms = 1'700'000'000'000 + id,
            .entry = {1'700'000'000'000 + static_cast<std::uint64_t>(id), 3},
            .created_at_ms = 1'700'000'100'000 + id};
  }

  /// An order with a quantity, and without defaults.
  Order pieces(std::int64_t user, std::int64_t quantity, std::int64_t limit) {
    Order order = this->order(user, limit);
    order.status = OrderStatus::kUnpaid;
    order.version = 3;
    order.price_cents = 250;
    order.quantity = quantity;
    order.due_at_ms = order.admitted_at_ms + 900'000;
    order.reference = "cart 17/\xc3\xa4";
    order.idempotency_key = "click " + std::to_string(order.id);
    order.key_expires_at_ms = order.admitted_at_ms + 1'000;
    return order;
  }
  /// An order of a user without a limit, admitted at `at_ms` with a key that lasts for 100 ms.
  Order with_key(std::int64_t user, std::string key, std::int64_t at_ms) {
    Order order = this->order(user, 0);
    order.admitted_at_ms = at_ms;
    order.idempotency_key = std::move(key);
    order.key_expires_at_ms = at_ms + 100;
    return order;
  }
  /// An order that was cancelled before it is written.
  Order cancelled(std::int64_t user, std::int64_t limit = 1, VoucherId voucher = kVoucher) {
    Order order = this->order(user, limit, voucher);
    order.status = OrderStatus::kCancelled;
    return order;
  }

  /// Returns all orders that a search selects: it goes on from part to part.
  std::vector<Order> search_all(OrderSearch search) {
    std::vector<Order> all;
    while (true) {
      const FoundOrders found = store().search(search).value();
      all.insert(all.end(), found.orders.begin(), found.orders.end());
      if (!found.next) return all;
      EXPECT_LT(*found.next, search.before);
      if (*found.next >= search.before) return all;
      search.before = *found.next;
    }
  }
  /// Writes as a worker does, with stock for any number of orders.
  std::vector<OrderResult> write(const std::vector<Order>& orders) {
    return checked(write_now(store(), orders), orders.size());
  }
  /// Writes with this stock of kVoucher, which is in another store.
  std::vector<OrderResult> write_with_stock(std::int64_t stock, const std::vector<Order>& orders) {
    return checked(store().write(orders, fence_now({{kVoucher, stock}})), orders.size());
  }
  BatchFence fence_now(const std::map<VoucherId, std::int64_t>& stock) {
    const DatabaseState state = store().state().value();
    return {.epoch = state.epoch,
            .checkpoint = state.checkpoint,
            .session = state.session,
            .stock = stock};
  }
  static std::vector<OrderResult> checked(absl::StatusOr<std::vector<OrderResult>> results,
                                          std::size_t count) {
    EXPECT_TRUE(results.ok()) << results.status();
    if (!results.ok()) return {};
    EXPECT_EQ(results->size(), count);
    for (const OrderResult& result : *results) {
      const bool has_reason = result.kind == Kind::kRefused || result.kind == Kind::kTooEarly;
      EXPECT_EQ(has_reason, !result.reason.empty()) << result.reason;
    }
    return *std::move(results);
  }
  static std::vector<Kind> kinds_of(const std::vector<OrderResult>& results) {
    std::vector<Kind> kinds;
    kinds.reserve(results.size());
    for (const OrderResult& result : results) kinds.push_back(result.kind);
    return kinds;
  }
  std::vector<Kind> write_kinds(const std::vector<Order>& orders) {
    return kinds_of(write(orders));
  }
  Kind write_one(const Order& order) { return write_kinds({order}).at(0); }

  std::vector<OrderId> list_ids(const OrderFilter& filter) {
    const std::vector<Order> orders = store().list(filter).value();
    std::vector<OrderId> ids;
    ids.reserve(orders.size());
    for (const Order& order : orders) ids.push_back(order.id);
    return ids;
  }

  OrderStore& store() { return subject_->store(); }
  bool reopen() { return subject_->reopen(); }
  /// Does nothing if the store is lost with its process.
  void reopen_if_possible() { static_cast<void>(reopen()); }

 private:
  std::unique_ptr<Subject> subject_ = GetParam().make();
  OrderId last_id_ = 1000;
};

// ---- Storing ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, AnOrderIsFoundAsItWasStored) {
  const Order usual = pieces(1, 2, 3);
  Order ended = cancelled(1);
  ended.keeps_stock = true;
  Order refunded = cancelled(2);
  refunded.status = OrderStatus::kRefunded;
  refunded.keeps_allowance = true;
  Order binary = order(3);
  binary.reference = std::string("\0 \n'\xff", 5);
  Order longest = order(4);
  binary.idempotency_key = std::string("\0 \n'\xfe", 5);
  longest.reference = std::string(Order::kReferenceBytesMax, 'x');
  longest.idempotency_key = std::string(Order::kIdempotencyKeyBytesMax, 'x');
  const std::vector<Order> stored = {usual, ended, refunded, binary, longest};
  EXPECT_EQ(write_kinds(stored), std::vector(stored.size(), Kind::kStored));
  reopen_if_possible();
  for (const Order& order : stored) EXPECT_EQ(store().find(order.id).value(), order);
  EXPECT_EQ(store().list({}).value(), stored);
  EXPECT_EQ(store().find(stored.back().id + 1).value(), std::nullopt);
}

TEST_P(OrderStoreTest, PaymentsAreKeptAsDeclared) {
  EXPECT_EQ(store().payments() != nullptr, GetParam().keeps_payments);
}

TEST_P(OrderStoreTest, TheGreatestNumbersAreKept) {
  const Order stored{.id = kMax,
                     .user = std::numeric_limits<std::int64_t>::min(),
                     .voucher = kMax,
                     .limit = kMax,
                     .admitted_at_ms = kMax,
                     .entry = StreamId::max(),
                     .created_at_ms = kMax,
                     .version = kMax,
                     .price_cents = kMax,
                     .due_at_ms = kMax,
                     .idempotency_key = "key",
                     .key_expires_at_ms = kMax};
  EXPECT_EQ(write_one(stored), Kind::kStored);
  EXPECT_EQ(store().find(kMax).value(), stored);
  EXPECT_EQ(write_one(stored), Kind::kAlreadyStored);
}

TEST_P(OrderStoreTest, GreatestQuantityIsKept) {
  constexpr std::int64_t kMost = Order::kQuantityMax;
  if (store().vouchers() != nullptr) {
    ASSERT_TRUE(store()
                    .vouchers()
                    ->record_pending({.voucher = {.id = kVoucher, .stock = kMost}, .version = 1})
                    .ok());
  }
  const Order all = pieces(1, kMost, kMost);
  EXPECT_EQ(kinds_of(write_with_stock(kMost, {pieces(1, kMost + 1, kMost + 1), all,
                                              pieces(1, kMost, kMost), pieces(2, 1, 0), all})),
            (std::vector{Kind::kRefused, Kind::kStored, Kind::kRefused, Kind::kRefused,
                         Kind::kAlreadyStored}));
  EXPECT_EQ(store().find(all.id).value(), all);
  EXPECT_EQ(store().count_live(kVoucher).value(), kMost);
}

TEST_P(OrderStoreTest, UserMayHaveName) {
  if (!store().takes_user_names()) return;
  std::vector<Order> orders;
  for (const std::string_view name : {"anna", "042", "42", "4e2", "j\xc3\xbcrgen"}) {
    orders.push_back(order(1));
    orders.back().user = UserId(name);
  }
  EXPECT_EQ(kinds_of(write(orders)), std::vector(orders.size(), Kind::kStored));
  for (const Order& stored : orders) {
    EXPECT_EQ(store().find(stored.id).value(), stored);
    EXPECT_EQ(store().list(filter_of(stored.user)).value(), std::vector{stored});
    Order second = order(1);
    second.user = stored.user;
    EXPECT_EQ(write_one(second), Kind::kRefused) << stored.user;
  }
  EXPECT_EQ(store().list(filter_of(42)).value(), std::vector{orders[2]});
}

TEST_P(OrderStoreTest, AnEmptyBatchIsStored) { EXPECT_TRUE(write({}).empty()); }

TEST_P(OrderStoreTest, GreatestIdBelowBoundIsReturned) {
  EXPECT_EQ(store().greatest_id(std::numeric_limits<OrderId>::max()).value(), 0);
  const Order first = order(1);
  const Order second = order(2);
  write({second, first});
  EXPECT_EQ(store().greatest_id(first.id).value(), 0);
  EXPECT_EQ(store().greatest_id(second.id).value(), first.id);
  EXPECT_EQ(store().greatest_id(second.id + 1).value(), second.id);
  EXPECT_EQ(store().greatest_id(std::numeric_limits<OrderId>::max()).value(), second.id);
}

TEST_P(OrderStoreTest, SearchEndsAtItsBounds) {
  for (std::int64_t user = 1; user <= 5; ++user) write_one(order(user));
  const std::vector<Order> all = store().list({}).value();
  const FoundOrders newest = store().search({.count_max = 2}).value();
  EXPECT_EQ(newest.orders, (std::vector{all[4], all[3]}));
  EXPECT_EQ(newest.next, all[3].id);
  // It looks at some orders only, and says where it ended.
  const OrderSearch fruitless{.reference = "none", .looked_at_max = 2};
  const FoundOrders none = store().search(fruitless).value();
  EXPECT_TRUE(none.orders.empty());
  ASSERT_TRUE(none.next.has_value());
  EXPECT_TRUE(search_all(fruitless).empty());
  const FoundOrders oldest = store().search({.before = all[0].id}).value();
  EXPECT_TRUE(oldest.orders.empty());
  EXPECT_EQ(oldest.next, std::nullopt);
}

TEST_P(OrderStoreTest, IdsAreReservedOnce) {
  constexpr std::int64_t kDay = 20'000;
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 0);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 100).value(), 100);
  EXPECT_EQ(store().reserve_ids(kDay, 50, 100).value(), 200);
  EXPECT_EQ(store().reserve_ids(kDay, 1'000, 100).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay, 2'000, 0).value(), 2'000) << "not recorded";
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100);
  EXPECT_EQ(store().reserve_ids(kDay + 1, 0, 7).value(), 7) << "each day has its own";
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 1'100) << "a clock may go back over midnight";
  EXPECT_EQ(store().reserve_ids(kDay + 2, 0, 7).value(), 7);
  EXPECT_EQ(store().reserve_ids(kDay, 0, 0).value(), 0) << "forgotten";
}

TEST_P(OrderStoreTest, VouchersWithOrdersAreReturned) {
  EXPECT_EQ(store().vouchers_with_orders().value(), std::vector<VoucherId>{});
  write({order(1, 1, /*voucher=*/12), order(2, 1, 3), order(3, 3, 12), order(4, 0, 7)});
  EXPECT_EQ(store().vouchers_with_orders().value(), (std::vector<VoucherId>{3, 7, 12}));
}

TEST_P(OrderStoreTest, OrdersAreCountedByVoucherAndState) {
  write({order(1, 7, 1), order(2, 8, 1), order(3, 7, 2)});
  const auto created = [&](std::optional<VoucherId> voucher) {
    const OrderCounts counts = store().count_by_status(voucher).value();
    return counts[static_cast<std::size_t>(OrderStatus::kCreated) - 1];
  };
  EXPECT_EQ(created(std::nullopt), 3);
  EXPECT_EQ(created(1), 2);
  EXPECT_EQ(created(2), 1);
  EXPECT_EQ(created(3), 0);
}

TEST_P(OrderStoreTest, AnOrderStoredTwiceIsStoredOnce) {
  for (const std::int64_t limit : {1, 3, 0}) {
    const Order stored = order(1, limit, /*voucher=*/10 + limit);
    EXPECT_EQ(write_one(stored), Kind::kStored);
    EXPECT_EQ(write_one(stored), Kind::kAlreadyStored);
    EXPECT_EQ(store().count_live(stored.voucher).value(), 1);
  }
}

TEST_P(OrderStoreTest, RedeliveredOrderKeepsTimeAndStatus) {
  const Order stored = order(1);
  EXPECT_EQ(write_one(stored), Kind::kStored);
  Order again = stored;
  again.admitted_at_ms += 5;
  again.created_at_ms += 5;
  again.status = kNotLive;
  EXPECT_EQ(write_one(again), Kind::kAlreadyStored);
  EXPECT_EQ(store().find(stored.id).value(), stored);
}

TEST_P(OrderStoreTest, AnIdTakenByAnotherOrderIsRefused) {
  const Order stored = order(1, 3);
  EXPECT_EQ(write_one(stored), Kind::kStored);
  const auto refuses = [&](auto change) {
    Order other = stored;
    change(other);
    const OrderResult result = write({other}).at(0);
    EXPECT_EQ(result.kind, Kind::kRefused);
    EXPECT_NE(result.reason.find("belongs to another order"), std::string::npos) << result.reason;
  };
  refuses([](Order& other) { other.user = 2; });
  refuses([](Order& other) { other.voucher = 8; });
  refuses([](Order& other) { other.limit = 4; });
  refuses([](Order& other) { ++other.entry.ms; });
  refuses([](Order& other) { ++other.entry.seq; });
  refuses([](Order& other) { ++other.quantity; });
  refuses([](Order& other) { ++other.price_cents; });
  EXPECT_EQ(store().find(stored.id).value(), stored);
  EXPECT_EQ(list_ids({}), std::vector{stored.id});
}

TEST_P(OrderStoreTest, AnOrderThatCannotBeIsRefused) {
  Order no_id = order(1);
  no_id.id = 0;
  EXPECT_EQ(write_one(no_id), Kind::kRefused);
  EXPECT_EQ(write_one(order(1, /*limit=*/-1)), Kind::kRefused);
  for (const std::int64_t quantity : {std::int64_t{0}, std::int64_t{-1}, -kMax - 1}) {
    EXPECT_EQ(write_one(pieces(1, quantity, 0)), Kind::kRefused);
  }
  EXPECT_EQ(store().count_live(kVoucher).value(), 0);
}

TEST_P(OrderStoreTest, OneRefusalDoesNotAffectBatch) {
  const Order first = order(1);
  const Order second = order(2);
  EXPECT_EQ(write_kinds({first, order(1), second}),
            (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored}));
  EXPECT_EQ(list_ids({}), (std::vector{first.id, second.id}));
}

TEST_P(OrderStoreTest, ABatchMayHoldAnOrderTwice) {
  const Order twice = order(1);
  Order other = order(2);
  other.id = twice.id;
  EXPECT_EQ(
      write_kinds({twice, twice, other, twice}),
      (std::vector{Kind::kStored, Kind::kAlreadyStored, Kind::kRefused, Kind::kAlreadyStored}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(OrderStoreTest, IdsMayComeInAnyOrder) {
  const Order low = order(1);
  const Order high = order(2);
  EXPECT_EQ(write_one(high), Kind::kStored);
  EXPECT_EQ(write_one(low), Kind::kStored);
  EXPECT_EQ(list_ids({}), (std::vector{low.id, high.id}));
}

// ---- Idempotency keys -------------------------------------------------------------------------

TEST_P(OrderStoreTest, SecondOrderOfKeyIsRefused) {
  const Order first = with_key(1, "click", 1'000);
  const Order last_ms = with_key(2, "click", 1'100);
  EXPECT_EQ(write_one(first), Kind::kStored);
  const OrderResult refused = write({last_ms}).at(0);
  EXPECT_EQ(refused.kind, Kind::kRefused);
  EXPECT_EQ(refused.reason,
            "its idempotency key \"click\" belongs to order " + std::to_string(first.id));
  EXPECT_EQ(write_one(first), Kind::kAlreadyStored);
  EXPECT_EQ(write_kinds({with_key(1, "clack", 1'000), with_key(1, "clack", 1'000)}),
            (std::vector{Kind::kStored, Kind::kRefused}));
}

TEST_P(OrderStoreTest, OrderMetBeforeFirstOfKeyKeepsIt) {
  const Order first = with_key(1, "click", 1'000);
  EXPECT_EQ(write_one(with_key(1, "click", 1'050)), Kind::kStored);
  EXPECT_EQ(write_one(first), Kind::kRefused);
}

TEST_P(OrderStoreTest, ExpiredKeyIsFree) {
  const Order first = with_key(1, "click", 1'000);
  const Order later = with_key(2, "click", 1'101);
  EXPECT_EQ(write_kinds({later, first, with_key(3, "click", 1'202)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kStored}));
  EXPECT_EQ(write_one(with_key(4, "click", 1'150)), Kind::kRefused);
  EXPECT_EQ(store().find(first.id).value(), first);
}

TEST_P(OrderStoreTest, KeyOfAnotherVoucherIsRefused) {
  const Order first = with_key(1, "click", 1'000);
  Order other = with_key(2, "click", 1'100);
  other.voucher = kVoucher + 1;
  EXPECT_EQ(write({first, other}).at(1).reason,
            "its idempotency key \"click\" belongs to order " + std::to_string(first.id));
  EXPECT_EQ(write_one(other), Kind::kRefused);
  other.admitted_at_ms = 1'101;
  EXPECT_EQ(write_one(other), Kind::kStored) << "the key has expired";
}

TEST_P(OrderStoreTest, KeyOfArchivedOrderIsRefused) {
  VoucherStore* const vouchers = store().vouchers();
  if (store().archive() == nullptr || vouchers == nullptr) return;
  constexpr VoucherId kEnded = kVoucher + 1;
  ASSERT_TRUE(
      vouchers->record_pending({.voucher = {.id = kEnded, .stock = 5, .end_ms = 1}, .version = 1})
          .ok());
  ASSERT_TRUE(vouchers->resolve(kEnded, 1, VoucherVersion::State::kApplied, {}).ok());
  Order first = with_key(1, "click", 1'000);
  first.voucher = kEnded;
  write({first});
  ASSERT_EQ(store().archive()->archive_voucher(kEnded, 2), absl::OkStatus());
  ASSERT_EQ(store().archive()->archive_orders(kEnded, 10).value(), 1U);
  EXPECT_EQ(write({with_key(2, "click", 1'100)}).at(0).reason,
            "its idempotency key \"click\" belongs to order " + std::to_string(first.id));
  EXPECT_EQ(write_one(with_key(3, "click", 1'101)), Kind::kStored);
  ASSERT_EQ(store().archive()->delete_orders(kEnded, 10).value(), 1U);
  EXPECT_EQ(write_one(with_key(4, "click", 1'000)), Kind::kStored) << "the order was deleted";
}

TEST_P(OrderStoreTest, OrdersWithLivingKeysAreVisited) {
  const Order first = with_key(1, "click", 1'000);
  Order second = with_key(2, "clack", 1'000);
  second.voucher = kVoucher + 1;
  const Order later = with_key(3, "click", 1'101);
  write({later, second, order(4), first});
  const auto visited_at = [this](std::int64_t time_ms) {
    std::set<OrderId> ids;
    EXPECT_TRUE(store()
                    .visit_keys(time_ms,
                                [&](std::span<const Order> orders) {
                                  for (const Order& one : orders) ids.insert(one.id);
                                  return absl::OkStatus();
                                })
                    .ok());
    return ids;
  };
  EXPECT_EQ(visited_at(1'100), (std::set{first.id, second.id, later.id})) << "the last millisecond";
  EXPECT_EQ(visited_at(1'101), std::set{later.id});
  EXPECT_EQ(visited_at(1'202), std::set<OrderId>{});
  const absl::Status failure = absl::AbortedError("enough");
  EXPECT_EQ(store().visit_keys(0, [&](std::span<const Order>) { return failure; }), failure);
}

TEST_P(OrderStoreTest, ManyKeysOfOneExpiryAreVisited) {
  constexpr std::int64_t kOrders = 2'001;
  constexpr VoucherId kArchived = kVoucher + 1;
  std::vector<Order> orders;
  std::vector<OrderId> ids;
  for (std::int64_t i = 0; i < kOrders; ++i) {
    orders.push_back(with_key(i + 1, "click " + std::to_string(i), 1'000));
    if (i % 3 == 0) orders.back().voucher = kArchived;
    ids.push_back(orders.back().id);
  }
  VoucherStore* const vouchers = store().vouchers();
  if (store().archive() != nullptr && vouchers != nullptr) {
    VoucherVersion sold{.voucher = {.id = kArchived, .stock = kOrders, .end_ms = 1}, .version = 1};
    ASSERT_TRUE(vouchers->record_pending(sold).ok());
    ASSERT_TRUE(vouchers->resolve(kArchived, 1, VoucherVersion::State::kApplied, {}).ok());
    write(orders);
    ASSERT_EQ(store().archive()->archive_voucher(kArchived, 2), absl::OkStatus());
    EXPECT_EQ(store().archive()->archive_orders(kArchived, 500).value(), 500U) << "not all";
  } else {
    write(orders);
  }
  std::vector<OrderId> visited;
  const auto visit = [&](std::span<const Order> portion) {
    for (const Order& one : portion) visited.push_back(one.id);
    return absl::OkStatus();
  };
  ASSERT_EQ(store().visit_keys(1'100, visit), absl::OkStatus());
  std::ranges::sort(visited);
  EXPECT_TRUE(visited == ids) << visited.size() << " of " << ids.size();
}

TEST_P(OrderStoreTest, EndedOrderKeepsItsKey) {
  Order ended = with_key(1, "click", 1'000);
  ended.status = OrderStatus::kCancelled;
  EXPECT_EQ(write_kinds({ended, with_key(1, "click", 1'050)}),
            (std::vector{Kind::kStored, Kind::kRefused}));
}

TEST_P(OrderStoreTest, RedeliveryOfOrderStoredWithoutKeyIsKnown) {
  Order stored = with_key(1, "click", 1'000);
  const Order redelivered = stored;
  stored.idempotency_key.clear();
  stored.key_expires_at_ms = 0;
  EXPECT_EQ(write_kinds({stored, redelivered}), (std::vector{Kind::kStored, Kind::kAlreadyStored}));
}

// ---- Limits -----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, ASecondOrderUnderLimitOneIsRefused) {
  EXPECT_EQ(write_one(order(1)), Kind::kStored);
  const OrderResult result = write({order(1)}).at(0);
  EXPECT_EQ(result.kind, Kind::kRefused);
  EXPECT_EQ(result.reason, "user 1 has 1 pieces of voucher 7 already, of a limit of 1");
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(OrderStoreTest, AFourthOrderUnderLimitThreeIsRefused) {
  EXPECT_EQ(write_kinds({order(1, 3), order(1, 3)}), (std::vector{Kind::kStored, Kind::kStored}));
  EXPECT_EQ(write_kinds({order(1, 3), order(1, 3)}), (std::vector{Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 3);
}

TEST_P(OrderStoreTest, PiecesOfUserCountAgainstLimit) {
  const auto results =
      write({pieces(1, 2, 5), pieces(1, 2, 5), pieces(1, 2, 5), pieces(1, 1, 5), pieces(2, 5, 5)});
  EXPECT_EQ(kinds_of(results), (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused,
                                            Kind::kStored, Kind::kStored}));
  EXPECT_EQ(results.at(2).reason, "user 1 has 4 pieces of voucher 7 already, of a limit of 5");
  EXPECT_EQ(store().count_live(kVoucher).value(), 10);
  EXPECT_EQ(write_one(pieces(1, 1, 6)), Kind::kStored);
  EXPECT_EQ(write_one(pieces(1, 100, 0)), Kind::kStored);
}

TEST_P(OrderStoreTest, QuantityAboveLimitIsRefused) {
  for (const std::int64_t limit : {1, 3}) {
    const OrderResult result = write({pieces(1, limit + 1, limit)}).at(0);
    EXPECT_EQ(result.kind, Kind::kRefused);
    EXPECT_EQ(result.reason,
              "user 1 has 0 pieces of voucher 7 already, of a limit of " + std::to_string(limit));
    EXPECT_EQ(write_one(pieces(1, kMax, limit)), Kind::kRefused);
  }
  EXPECT_EQ(store().count_live(kVoucher).value(), 0);
}

TEST_P(OrderStoreTest, LimitOneOrderCountsAsPiece) {
  EXPECT_EQ(write_kinds({order(1), pieces(1, 3, 3), pieces(1, 2, 3), order(1)}),
            (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored, Kind::kRefused}));
}

TEST_P(OrderStoreTest, LimitNoneAllowsAnyNumber) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(write_one(order(1, 0)), Kind::kStored);
  EXPECT_EQ(store().count_live(kVoucher).value(), 20);
}

TEST_P(OrderStoreTest, LimitsHoldPerUserAndVoucher) {
  EXPECT_EQ(write_kinds({order(1), order(2), order(1, 1, /*voucher=*/8)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kStored}));
}

TEST_P(OrderStoreTest, EachOrderIsCheckedAgainstItsOwnLimit) {
  EXPECT_EQ(write_kinds({order(1, 1), order(1, 2), order(1, 2), order(1, 1), order(1, 0),
                         order(1, 3), order(1, 4)}),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused, Kind::kRefused,
                         Kind::kStored, Kind::kRefused, Kind::kStored}));
}

TEST_P(OrderStoreTest, LimitOneCountsOrdersUnderOtherLimits) {
  for (const std::int64_t limit : {0, 3}) {
    const std::int64_t user = 10 + limit;
    EXPECT_EQ(write_one(order(user, limit)), Kind::kStored);
    EXPECT_EQ(write_one(order(user, 1)), Kind::kRefused);
  }
}

TEST_P(OrderStoreTest, LaterOrderUnderRaisedLimitDoesNotCount) {
  for (const std::int64_t old : {1, 2}) {
    for (const std::int64_t raised : {3, 0}) {
      const std::int64_t user = 100 * old + raised;
      const Order first = order(user, old);
      const Order second = order(user, raised);
      EXPECT_EQ(write_kinds({second, first, order(user, old)}),
                (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));
    }
  }
}

TEST_P(OrderStoreTest, LaterOrderUnderSameLimitCounts) {
  for (const std::int64_t limit : {1, 2}) {
    const std::int64_t user = 10 + limit;
    Order first = order(user, limit);
    first.quantity = limit;
    EXPECT_EQ(write_kinds({order(user, limit), first}),
              (std::vector{Kind::kStored, Kind::kRefused}));
  }
}

TEST_P(OrderStoreTest, LimitOneCountsOtherOrdersOfBatch) {
  for (const std::int64_t limit : {0, 3}) {
    const std::int64_t user = 10 + limit;
    EXPECT_EQ(write_kinds({order(user, limit), order(user, 1), order(user + 1, 1)}),
              (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored}));
  }
}

TEST_P(OrderStoreTest, OrderCountsUntilItEnds) {
  for (auto number = static_cast<int>(OrderStatus::kCreated);
       number <= static_cast<int>(OrderStatus::kRefunded); ++number) {
    const auto status = static_cast<OrderStatus>(number);
    for (const std::int64_t limit : {1, 3}) {
      const VoucherId voucher = 100 * limit + number;
      Order first = order(1, limit, voucher);
      first.status = status;
      first.quantity = limit;
      Kind second = is_live(status) ? Kind::kRefused : Kind::kStored;
      if (status == OrderStatus::kRefunding) second = Kind::kTooEarly;  // it may have ended already
      EXPECT_EQ(write_kinds({first, order(1, limit, voucher)}),
                (std::vector{Kind::kStored, second}))
          << order_status_name(status) << ", limit " << limit;
      EXPECT_EQ(store().count_live(voucher).value(), is_live(status) ? limit : 1);
    }
  }
}

TEST_P(OrderStoreTest, OnlyLiveOrdersCount) {
  for (const std::int64_t limit : {1, 3, 0}) {
    const VoucherId voucher = 10 + limit;
    Order unknown = order(1, limit, voucher);
    unknown.status = kNotLive;
    EXPECT_EQ(write_kinds({cancelled(1, limit, voucher), unknown, order(1, limit, voucher)}),
              (std::vector{Kind::kStored, Kind::kStored, Kind::kStored}));
    EXPECT_EQ(store().count_live(voucher).value(), 1);
    EXPECT_EQ(list_ids(filter_of(kAny, voucher)).size(), 3U);
    EXPECT_EQ(list_ids(filter_of(1, voucher)).size(), 3U);
  }
}

// ---- Listing ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, AllConditionsOfAListMustHold) {
  std::vector<Order> orders = {order(1), order(2), order(1, 3, 8), order(1, 1, 8), order(2, 0, 8)};
  orders[3].status = kNotLive;
  write(orders);
  const auto expect = [&](const OrderFilter& filter, const std::vector<std::size_t>& places) {
    std::vector<Order> expected;
    expected.reserve(places.size());
    for (const std::size_t place : places) expected.push_back(orders[place]);
    EXPECT_EQ(store().list(filter).value(), expected);
  };
  expect({}, {0, 1, 2, 3, 4});
  expect(filter_of(1), {0, 2, 3});
  expect(filter_of(kAny, 8), {2, 3, 4});
  expect(filter_of(kAny, kAny, OrderStatus::kCreated), {0, 1, 2, 4});
  expect(filter_of(1, 8), {2, 3});
  expect(filter_of(1, kAny, OrderStatus::kCreated), {0, 2});
  expect(filter_of(kAny, 8, kNotLive), {3});
  expect(filter_of(1, 8, OrderStatus::kCreated), {2});
  expect(filter_of(3), {});
  expect(filter_of(kAny, 9), {});
}

TEST_P(OrderStoreTest, VoucherOrdersAreListedByStatus) {
  std::map<OrderStatus, std::vector<OrderId>> expected;
  std::vector<Order> orders;
  for (int i = 0; i < 21; ++i) {
    const auto status = static_cast<OrderStatus>(1 + i % 7);
    for (const VoucherId voucher : {kVoucher, kVoucher + 1}) {
      orders.push_back(order(1, 0, voucher));
      orders.back().status = status;
      if (voucher == kVoucher) expected[status].push_back(orders.back().id);
    }
  }
  write(orders);
  for (const auto& [status, ids] : expected) {
    OrderFilter filter = filter_of(kAny, kVoucher, status);
    EXPECT_EQ(list_ids(filter), ids) << order_status_name(status);
    filter.after = ids[0];
    filter.count_max = 1;
    EXPECT_EQ(list_ids(filter), std::vector{ids[1]}) << order_status_name(status);
  }
}

TEST_P(OrderStoreTest, AListIsReadInPages) {
  write({order(1), order(2), order(1, 0), order(1, 3), order(3), order(1, 0), order(1, 0),
         order(2, 1, 8), order(1, 0, 8), order(1, 0)});
  for (OrderFilter filter :
       {filter_of(1), filter_of(1, kVoucher), filter_of(kAny, kVoucher), OrderFilter()}) {
    const std::vector<OrderId> all = list_ids(filter);
    EXPECT_GE(all.size(), 6U);
    std::vector<OrderId> paged;
    filter.count_max = 2;
    for (std::vector<OrderId> page; !(page = list_ids(filter)).empty();) {
      EXPECT_LE(page.size(), 2U);
      paged.insert(paged.end(), page.begin(), page.end());
      filter.after = page.back();
    }
    EXPECT_EQ(paged, all);
  }
}

TEST_P(OrderStoreTest, AListOfNothingIsEmpty) {
  write({order(1)});
  EXPECT_TRUE(list_ids(at_most(0)).empty());
  EXPECT_EQ(list_ids(at_most(std::numeric_limits<std::size_t>::max())).size(), 1U);
}

// ---- Stock ------------------------------------------------------------------------------------

TEST_P(OrderStoreTest, OrderBeyondTheStockIsRefused) {
  const Order first = order(1);
  EXPECT_EQ(kinds_of(write_with_stock(2, {first, order(2), order(3)})),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));
  const std::vector<OrderResult> later = write_with_stock(2, {order(3), first});
  EXPECT_EQ(later.at(0).kind, Kind::kRefused);
  EXPECT_EQ(later.at(0).reason, "voucher 7 has 2 pieces taken of a stock of 2");
  EXPECT_EQ(later.at(1).kind, Kind::kAlreadyStored) << "a redelivery takes no stock";
  EXPECT_EQ(store().count_live(kVoucher).value(), 2);
  EXPECT_EQ(write_with_stock(3, {order(3)}).at(0).kind, Kind::kStored);
}

TEST_P(OrderStoreTest, OrderOfUnpublishedVoucherIsRefused) {
  const Order unknown = order(1, 1, /*voucher=*/99);
  const OrderResult result = write_with_stock(5, {unknown}).at(0);
  EXPECT_EQ(result.kind, Kind::kRefused);
  EXPECT_EQ(result.reason, "voucher 99 was never published here");
}

TEST_P(OrderStoreTest, EachPieceTakesStock) {
  const auto results = write_with_stock(5, {pieces(1, 3, 0), pieces(2, 3, 0), pieces(3, 2, 0)});
  EXPECT_EQ(kinds_of(results), (std::vector{Kind::kStored, Kind::kRefused, Kind::kStored}));
  EXPECT_EQ(results.at(1).reason, "voucher 7 has 3 pieces taken of a stock of 5");
  EXPECT_EQ(store().count_live(kVoucher).value(), 5);
}

TEST_P(OrderStoreTest, CancelledOrderTakesNoStock) {
  EXPECT_EQ(kinds_of(write_with_stock(1, {cancelled(1), order(2)})),
            (std::vector{Kind::kStored, Kind::kStored}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 1);
}

TEST_P(OrderStoreTest, KeptStockIsTaken) {
  Order keeps = cancelled(1, 3);
  keeps.quantity = 2;
  keeps.keeps_stock = true;
  EXPECT_EQ(kinds_of(write_with_stock(3, {keeps, order(2), order(3)})),
            (std::vector{Kind::kStored, Kind::kStored, Kind::kRefused}));
  EXPECT_EQ(store().count_live(kVoucher).value(), 3);
}

// ---- The stock of a store that keeps the vouchers too -------------------------------------------

TEST_P(OrderStoreTest, GreatestOfAppliedAndPendingStocksCounts) {
  VoucherStore* const vouchers = store().vouchers();
  if (vouchers == nullptr) GTEST_SKIP() << "keeps no vouchers";
  using State = VoucherVersion::State;
  const auto record = [&](std::int64_t version, std::int64_t stock) {
    return vouchers->record_pending(
        {.voucher = {.id = kVoucher, .stock = stock}, .version = version});
  };
  ASSERT_TRUE(record(1, 1).ok());
  ASSERT_TRUE(vouchers->resolve(kVoucher, 1, State::kApplied, "").ok());
  EXPECT_EQ(write_kinds({order(1), order(2)}), (std::vector{Kind::kStored, Kind::kRefused}));
  ASSERT_TRUE(record(2, 3).ok());
  EXPECT_EQ(write_one(order(2)), Kind::kStored);
  ASSERT_TRUE(vouchers->resolve(kVoucher, 2, State::kRefused, "no").ok());
  EXPECT_EQ(write_one(order(3)), Kind::kRefused);
  ASSERT_TRUE(record(3, 1).ok());
  ASSERT_TRUE(vouchers->resolve(kVoucher, 3, State::kApplied, "").ok());
  EXPECT_EQ(write_one(order(3)), Kind::kRefused);
}

TEST_P(OrderStoreTest, OwnVoucherMustBePublished) {
  if (store().vouchers() == nullptr) GTEST_SKIP() << "keeps no vouchers";
  const Order unknown = order(1, 1, /*voucher=*/99);
  const DatabaseState now = store().state().value();
  const auto results =
      store().write(std::span(&unknown, 1), {.epoch = now.epoch, .session = now.session});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->at(0).kind, Kind::kRefused);
  EXPECT_EQ(results->at(0).reason, "voucher 99 was never published here");
}

// ---- The keyspace -----------------------------------------------------------------------------

TEST_P(OrderStoreTest, BatchOfAnOlderEpochChangesNothing) {
  BatchFence fence = fence_now({{kVoucher, 5}});
  const std::int64_t checkpoint = fence.checkpoint;
  const auto after = store().fence();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->epoch, fence.epoch + 1);
  const Order late = order(1);
  fence.checkpoint = 99;
  const auto refused = store().write(std::span(&late, 1), fence);
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_EQ(store().find(late.id).value(), std::nullopt);
  EXPECT_EQ(store().state()->checkpoint, checkpoint);
  EXPECT_EQ(write_one(late), Kind::kStored);
}

TEST_P(OrderStoreTest, CheckpointCommitsWithBatchAndNeverFalls) {
  const Order first = order(1);
  BatchFence fence = fence_now({{kVoucher, 5}});
  fence.checkpoint = 7;
  ASSERT_TRUE(store().write(std::span(&first, 1), fence).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
  fence.checkpoint = 3;
  ASSERT_TRUE(store().write({}, fence).ok());
  EXPECT_EQ(store().state()->checkpoint, 7);
  fence.checkpoint = 9;
  ASSERT_TRUE(store().record_checkpoint(fence).ok());
  fence.checkpoint = 8;
  ASSERT_TRUE(store().record_checkpoint(fence).ok());
  EXPECT_EQ(store().state()->checkpoint, 9);
}

/// A batch may be recorded after one with a later checkpoint. A database without it is behind.
TEST_P(OrderStoreTest, EachBatchRaisesRevision) {
  const Order first = order(1);
  BatchFence fence = fence_now({{kVoucher, 5}});
  DatabaseState expected = store().state().value();
  for (const std::int64_t checkpoint : {7, 6, 6, 20}) {
    fence.checkpoint = checkpoint;
    ASSERT_TRUE(store().write(std::span(&first, 1), fence).ok());
    expected.record(fence);
    EXPECT_EQ(store().state()->revision, expected.revision);
  }
  ASSERT_TRUE(store().record_checkpoint(fence).ok());
  EXPECT_EQ(store().state()->revision, 21);
  ASSERT_TRUE(store().fence().ok());
  EXPECT_EQ(store().state()->revision, 21);
}

TEST_P(OrderStoreTest, BatchOfAnotherSessionChangesNothing) {
  BatchFence fence = fence_now({{kVoucher, 5}});
  const DatabaseState before = store().state().value();
  const Order late = order(1);
  ++fence.session;
  const auto refused = store().write(std::span(&late, 1), fence);
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_EQ(store().find(late.id).value(), std::nullopt);
  EXPECT_EQ(store().state()->revision, before.revision);
}

TEST_P(OrderStoreTest, IdentityStaysAndIsNoOthers) {
  const std::string identity = store().state()->identity;
  EXPECT_EQ(identity.size(), 16U);
  EXPECT_EQ(store().fence()->identity, identity);
  const auto other = GetParam().make();
  EXPECT_NE(other->store().state()->identity, identity);
}

TEST_P(OrderStoreTest, EverythingIsThereAfterReopening) {
  const std::vector<Order> orders = {order(1), order(2, 3), pieces(3, 4, 0)};
  write(orders);
  const DatabaseState fenced = store().fence().value();
  BatchFence fence = fence_now({});
  fence.checkpoint = 42;
  ASSERT_TRUE(store().record_checkpoint(fence).ok());
  ASSERT_EQ(store().reserve_ids(20'000, 0, 100).value(), 100);
  if (!reopen()) GTEST_SKIP() << "is lost with its process";
  EXPECT_EQ(store().list({}).value(), orders);
  EXPECT_EQ(store().count_live(kVoucher).value(), 6);
  EXPECT_EQ(store().state()->identity, fenced.identity);
  EXPECT_EQ(store().state()->epoch, fenced.epoch);
  EXPECT_EQ(store().state()->checkpoint, 42);
  EXPECT_EQ(store().state()->revision, 42);
  EXPECT_EQ(store().reserve_ids(20'000, 0, 100).value(), 200);
  EXPECT_EQ(write_kinds({orders[0], order(1)}),
            (std::vector{Kind::kAlreadyStored, Kind::kRefused}));
}

// ---- Threads ----------------------------------------------------------------------------------

TEST_P(OrderStoreTest, ThreadsMayWriteAndReadAtOnce) {
  std::vector<std::vector<Order>> batches(4);
  for (std::int64_t user = 1; user <= 400; ++user) {
    for (std::vector<Order>& batch : batches) batch.push_back(order(user, 1));
  }
  write({order(0)});  // publishes the voucher
  std::vector<std::thread> threads;
  threads.reserve(batches.size());
  for (const std::vector<Order>& batch : batches) {
    threads.emplace_back([this, &batch] {
      for (std::size_t at = 0; at < batch.size(); at += 20) {
        EXPECT_TRUE(write_now(store(), std::span(batch).subspan(at, 20)).ok());
        EXPECT_TRUE(store().find(batch[at].id).ok());
        EXPECT_LE(store().count_live(kVoucher).value(), 401);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store().count_live(kVoucher).value(), 401);
}

// ---- Compared with a model ----

/// The simplest order store: a list that is searched from end to end.
class Model {
 public:
  OrderResult::Kind store(const Order& order) {
    if (order.quantity <= 0) return OrderResult::Kind::kRefused;
    std::int64_t live = 0;
    std::int64_t refunding = 0;
    for (const Order& other : orders_) {
      if (other.id == order.id) {
        const bool same = other.user == order.user && other.voucher == order.voucher &&
                          other.limit == order.limit && other.entry == order.entry &&
                          other.quantity == order.quantity;
        return same ? OrderResult::Kind::kAlreadyStored : OrderResult::Kind::kRefused;
      }
      const bool is_under_raised_limit =
          other.entry > order.entry && (other.limit == 0 || other.limit > order.limit);
      const bool counts = is_live(other) && other.user == order.user &&
                          other.voucher == order.voucher && !is_under_raised_limit;
      if (counts) live += other.quantity;
      if (counts && other.status == OrderStatus::kRefunding) refunding += other.quantity;
    }
    if (is_live(order) && order.limit != 0 && live + order.quantity > order.limit) {
      const bool may_fit = live - refunding + order.quantity <= order.limit;
      return may_fit ? OrderResult::Kind::kTooEarly : OrderResult::Kind::kRefused;
    }
    orders_.push_back(order);
    return OrderResult::Kind::kStored;
  }

  [[nodiscard]] std::vector<Order> list(const OrderFilter& filter) const {
    std::vector<Order> found;
    for (const Order& order : orders_) {
      if (filter.user.value_or(order.user) == order.user &&
          filter.voucher.value_or(order.voucher) == order.voucher &&
          filter.status.value_or(order.status) == order.status && order.id > filter.after) {
        found.push_back(order);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Order& a, const Order& b) { return a.id < b.id; });
    found.resize(std::min(found.size(), filter.count_max));
    return found;
  }

  /// Returns all orders that the search selects.
  [[nodiscard]] std::vector<Order> search(const OrderSearch& search) const {
    std::vector<Order> found = list({.user = search.user,
                                     .voucher = search.voucher,
                                     .status = search.status,
                                     .count_max = orders_.size()});
    std::erase_if(found, [&](const Order& order) {
      return order.id >= search.before ||
             search.reference.value_or(order.reference) != order.reference;
    });
    std::reverse(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] OrderId greatest_id(OrderId below) const {
    OrderId greatest = 0;
    for (const Order& order : orders_) {
      if (order.id < below) greatest = std::max(greatest, order.id);
    }
    return greatest;
  }

  [[nodiscard]] std::int64_t count_live(VoucherId voucher) const {
    std::int64_t taken = 0;
    for (const Order& order : orders_) {
      if (order.voucher == voucher) taken += pieces_taken(order);
    }
    return taken;
  }

 protected:
  std::vector<Order> orders_;
};

/// Random orders and filters. Their numbers come from small ranges, so ids, users and limits
/// collide.
class RandomOrders {
 public:
  RandomOrders(std::uint64_t seed, bool with_user_names)
      : random_(seed), with_user_names_(with_user_names) {}

  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  /// Returns new orders, and some of earlier batches.
  std::vector<Order> batch() {
    std::vector<Order> batch;
    for (std::int64_t left = below(30); left > 0; --left) {
      const bool is_repeated = !sent_.empty() && below(4) == 0;
      const auto sent = static_cast<std::int64_t>(sent_.size());
      batch.push_back(is_repeated ? sent_[static_cast<std::size_t>(below(sent))] : order());
      sent_.push_back(batch.back());
    }
    return batch;
  }

  OrderFilter filter() {
    OrderFilter filter;
    if (below(2) == 0) filter.user = user(below(41));
    if (below(2) == 0) filter.voucher = below(4);
    if (below(2) == 0) filter.status = status();
    if (below(2) == 0) filter.after = below(2000);
    filter.count_max = static_cast<std::size_t>(below(30));
    return filter;
  }

  OrderSearch search() {
    const OrderFilter conditions = filter();
    OrderSearch search{
        .user = conditions.user, .voucher = conditions.voucher, .status = conditions.status};
    if (below(2) == 0) search.reference = reference();
    if (below(2) == 0) search.before = below(2100);
    search.count_max = static_cast<std::size_t>(1 + below(30));
    search.looked_at_max = static_cast<std::size_t>(1 + below(300));
    return search;
  }

 protected:
  Order order() {
    constexpr std::int64_t kLimits[] = {1, 1, 1, 3, 0};
    const OrderId id = 1 + below(2000);
    const OrderStatus status = below(2) == 0 ? OrderStatus::kCreated : this->status();
    return {.id = id,
            .user = user(below(40)),
            .voucher = below(3),
            .status = status,
            .limit = kLimits[below(5)],
            .admitted_at_ms = below(1'000'000),
            .entry = {static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(below(50) / 49)},
            .quantity = below(4) == 0 ? below(4) : 1,
            .reference = reference(),
            .keeps_stock = !is_live(status) && below(2) == 0};
  }
  OrderStatus status() { return static_cast<OrderStatus>(1 + below(7)); }
  std::string reference() { return below(3) == 0 ? "" : "till " + std::to_string(below(3)); }
  /// Every fourth user may have a name.
  [[nodiscard]] UserId user(std::int64_t number) const {
    return with_user_names_ && number % 4 == 0 ? UserId("user-" + std::to_string(number))
                                               : UserId(number);
  }

 private:
  std::mt19937_64 random_;
  const bool with_user_names_;
  std::vector<Order> sent_;
};

TEST_P(OrderStoreTest, RandomBatchesMatchModel) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  RandomOrders random(seed, store().takes_user_names());
  Model model;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    const std::vector<Order> batch = random.batch();
    std::vector<Kind> expected;
    expected.reserve(batch.size());
    for (const Order& order : batch) expected.push_back(model.store(order));
    EXPECT_EQ(write_kinds(batch), expected);
    const OrderFilter filter = random.filter();
    EXPECT_EQ(store().list(filter).value(), model.list(filter));
    const OrderSearch search = random.search();
    EXPECT_EQ(search_all(search), model.search(search));
    const OrderId bound = random.below(2100);
    EXPECT_EQ(store().greatest_id(bound).value(), model.greatest_id(bound));
    const VoucherId voucher = random.below(3);
    EXPECT_EQ(store().count_live(voucher).value(), model.count_live(voucher));
  }
  EXPECT_EQ(store().list(at_most(10'000)).value(), model.list(at_most(10'000)));
}

}  // namespace order_store_contract
}  // namespace rushgate
