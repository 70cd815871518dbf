// The cost of a queued order's status, and when it reads the order stream.
#include "engine/sale/stream/queued_orders.h"

#include <functional>
#include <utility>

#include <gmock/gmock.h>

#include "engine/sale/stores/order_ids.h"
#include "tests/unit/sale/sale_fixture.h"

namespace rushgate {
namespace {

/// Returns the number of stream entries in a reply.
std::size_t entries_in(const Request& request, const Reply& reply) {
  if (request[0] == "XRANGE") return reply.elements().size();
  const bool is_native = request[0] == "FCALL" && request[1] == kNativeQueuedEntries;
  return is_native ? static_cast<std::size_t>(reply.elements().at(0).integer()) : 0;
}

class QueuedOrdersTest : public SaleTest {
 protected:
  static constexpr std::int64_t kOrders = 2'500;  // a batch is 1,000

  QueuedOrdersTest() { EXPECT_TRUE(sale_->publish(voucher(1, 10 * kOrders)).ok()); }

  /// Opens another process's sale, on a backend that counts the stream entries read.
  std::unique_ptr<Sale> open_sale() { return *Sale::open(counting_, backend_.orders()); }
  /// Returns the number of entries read since the last call.
  std::size_t take_entries_read() { return std::exchange(entries_read_, 0); }

  std::vector<OrderId> buy_many(Sale& sale, std::int64_t count = kOrders) {
    std::vector<BuyRequest> requests;
    for (std::int64_t i = 0; i < count; ++i) requests.push_back({.voucher = 1, .user = ++user_});
    std::vector<OrderId> orders;
    for (const BuyResult& result : sale.buy_all(requests)) {
      EXPECT_EQ(result.outcome, Outcome::kAccepted) << result.detail;
      orders.push_back(result.order);
    }
    return orders;
  }

  static OrderLocation status(Sale& sale, OrderId order) {
    const auto state = sale.status(order);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->location : OrderLocation::kDeadLetter;
  }

 private:
  std::int64_t user_ = 0;
  std::size_t entries_read_ = 0;
  HookedBackend counting_{backend_.keyspace(),
                          {.after = [this](const Request& request, const Reply& reply) {
                            entries_read_ += entries_in(request, reply);
                          }}};
};
INSTANTIATE_TEST_SUITE_P(Backends, QueuedOrdersTest, each_backend(), backend_name);

TEST_P(QueuedOrdersTest, OwnOrdersNeedNoRead) {
  const auto sale = open_sale();
  const std::vector<OrderId> orders = buy_many(*sale);
  const BuyResult single = sale->buy(1, 1'000'000);
  take_entries_read();
  for (const OrderId order : orders) EXPECT_EQ(status(*sale, order), OrderLocation::kQueued);
  EXPECT_EQ(status(*sale, single.order), OrderLocation::kQueued);
  EXPECT_EQ(take_entries_read(), 0U);
}

TEST_P(QueuedOrdersTest, OrdersOfOthersAreReadOnce) {
  const std::vector<OrderId> orders = buy_many(*sale_);
  const auto other = open_sale();
  take_entries_read();
  for (const OrderId order : orders) EXPECT_EQ(status(*other, order), OrderLocation::kQueued);
  EXPECT_EQ(take_entries_read(), orders.size());
  const OrderId later = buy_many(*sale_, 1).front();
  EXPECT_EQ(status(*other, later), OrderLocation::kQueued);
  EXPECT_EQ(status(*other, later + 1'000), OrderLocation::kUnknown);
  EXPECT_EQ(take_entries_read(), 1U);
}

TEST_P(QueuedOrdersTest, StoredOrdersAreNotRead) {
  buy_many(*sale_);
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");  // prevents trimming
  drain();
  const auto other = open_sale();
  const OrderId queued = buy_many(*sale_, 1).front();
  take_entries_read();
  EXPECT_EQ(status(*other, queued), OrderLocation::kQueued);
  EXPECT_EQ(take_entries_read(), 1U);
  drain();
  EXPECT_EQ(status(*other, queued), OrderLocation::kStored);
}

TEST_P(QueuedOrdersTest, PendingOrdersAreQueued) {
  const std::vector<OrderId> orders = buy_many(*sale_, 3);
  worker_->step();
  const std::vector<OrderId> others = buy_many(*sale_, 3);
  backend_.client()("XREADGROUP", "GROUP", "g1", "stranger", "COUNT", 2, "STREAMS", "stream.orders",
                    ">");
  const auto other = open_sale();
  for (const OrderId order : others) EXPECT_EQ(status(*other, order), OrderLocation::kQueued);
  EXPECT_EQ(status(*other, orders.back() + 1'000), OrderLocation::kUnknown);
}

TEST_P(QueuedOrdersTest, RefusedOrderIsUnknown) {
  const OrderId accepted = buy_many(*sale_, 1).front();
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);  // it gets the next id
  EXPECT_EQ(status(*sale_, accepted + 1), OrderLocation::kUnknown);
}

TEST_P(QueuedOrdersTest, StrangersReadBacklogOnce) {
  const OrderId last = buy_many(*sale_).back();
  const auto other = open_sale();
  take_entries_read();
  for (OrderId made_up = last + 1'000; made_up < last + 1'020; ++made_up) {
    const PayRequest payment{.order = made_up, .payment = "p", .amount_cents = 1};
    EXPECT_EQ(other->pay(payment).outcome, ChangeOutcome::kUnknownOrder);
    EXPECT_EQ(other->cancel(made_up, "no").outcome, ChangeOutcome::kUnknownOrder);
    EXPECT_EQ(other->use(made_up).outcome, ChangeOutcome::kUnknownOrder);
    EXPECT_EQ(other->refund(made_up, "no").outcome, ChangeOutcome::kUnknownOrder);
    EXPECT_EQ(status(*other, made_up), OrderLocation::kUnknown);
  }
  EXPECT_EQ(take_entries_read(), static_cast<std::size_t>(kOrders));
}

/// The second call reads newer entries while the first one asks how long the stream is.
TEST_P(QueuedOrdersTest, ConcurrentCallsShareOnePass) {
  buy_many(*sale_, 10);
  std::size_t entries_read = 0;
  std::function<void()> meanwhile;
  HookedClient client(backend_.keyspace().open_client(),
                      {.after = [&](const Request& request, const Reply& reply) {
                        entries_read += entries_in(request, reply);
                        if (request[0] != "XREVRANGE" || !meanwhile) return;
                        std::exchange(meanwhile, nullptr)();
                      }});
  QueuedOrders queued(client, SaleKeys{});
  EXPECT_FALSE(*queued.contains(1));
  EXPECT_EQ(std::exchange(entries_read, 0), 10U);
  meanwhile = [&] { EXPECT_TRUE(*queued.contains(buy_many(*sale_, 1).front())); };
  EXPECT_FALSE(*queued.contains(2));
  EXPECT_EQ(entries_read, 1U);
}

TEST_P(QueuedOrdersTest, NativeScriptReadsAsCommandDoes) {
  if (!backend_.keyspace().capabilities().runs_native_scripts) return;
  buy_many(*sale_, 3);
  const auto add = [this](std::vector<std::string> fields) {
    Request request = Request::of("XADD", "stream.orders", "*");
    for (const std::string& field : fields) request.add(field);
    EXPECT_TRUE(backend_.client().call(std::move(request)).is_text());
  };
  add({"userId", "ann", "voucherId", "1", "id", "77"});
  add({"userId", "007", "id", "no number", "id", "78", "userId", "8"});
  add({"id", "-5", "userId", ""});
  add({"event", "paid", "id", "77", "userId", "ann"});
  add({"nothing", "else"});
  Client& client = backend_.client();
  for (const std::size_t count_max : {std::size_t{1}, std::size_t{5}, std::size_t{100}}) {
    const auto by_command =
        read_queued_entries(client("XRANGE", "stream.orders", "-", "+", "COUNT", count_max));
    ASSERT_TRUE(by_command.ok()) << by_command.status();
    const Reply reply = client.call(make_queued_entries_request("stream.orders", {}, count_max));
    const auto natively = read_native_queued_entries(reply);
    ASSERT_TRUE(natively.ok()) << natively.status();
    ASSERT_EQ(natively->size(), by_command->size());
    for (std::size_t i = 0; i < natively->size(); ++i) {
      EXPECT_EQ((*natively)[i].id, (*by_command)[i].id);
      EXPECT_EQ((*natively)[i].order, (*by_command)[i].order) << i;
      EXPECT_EQ((*natively)[i].user, (*by_command)[i].user) << i;
    }
  }
}

TEST_P(QueuedOrdersTest, OrdersOfUserAreReadFromTheirPages) {
  const auto own = open_sale();
  const std::vector<OrderId> orders = buy_many(*own);  // of the users from 1
  EXPECT_TRUE(own->orders_of(UserId("nobody"))->empty());
  EXPECT_EQ(take_entries_read(), static_cast<std::size_t>(kOrders));
  EXPECT_TRUE(own->orders_of(1'000'000)->empty());
  EXPECT_EQ(take_entries_read(), 0U);

  const auto found = own->orders_of(1'700);

  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().order->id, orders[1'699]);
  EXPECT_EQ(found->front().location, OrderLocation::kQueued);
  EXPECT_LE(take_entries_read(), QueuedOrders::kPageEntries);
}

TEST_P(QueuedOrdersTest, QueuedOrderIsReadFromItsPage) {
  const auto own = open_sale();
  std::vector<OrderId> orders = buy_many(*own);
  for (const OrderId of_other : buy_many(*sale_, 100)) orders.push_back(of_other);
  EXPECT_EQ(status(*own, orders.back() + 1'000), OrderLocation::kUnknown);
  take_entries_read();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1'700}, orders.size() - 1}) {
    const PayRequest payment{.order = orders[i], .payment = "p", .amount_cents = 1};
    EXPECT_EQ(own->pay(payment).outcome, ChangeOutcome::kRefused) << "demands no payment";
    const ChangeResult cancelled = own->cancel(orders[i], "no");
    EXPECT_EQ(cancelled.outcome, ChangeOutcome::kTooLate);
    EXPECT_EQ(cancelled.status, OrderStatus::kCreated);
    EXPECT_EQ(own->use(orders[i]).outcome, ChangeOutcome::kOverloaded) << "not stored yet";
    EXPECT_LE(take_entries_read(), 3 * QueuedOrders::kPageEntries);
  }
  drain();
  EXPECT_EQ(own->use(orders[0]).outcome, ChangeOutcome::kDone);
  EXPECT_EQ(take_entries_read(), 0U);
}

/// Its page lacks it then.
TEST_P(QueuedOrdersTest, RetriedOrderIsFoundBehindItsPage) {
  const auto own = open_sale();
  const OrderId order = buy_many(*own, 300).front();
  EXPECT_EQ(own->cancel(order, "no").outcome, ChangeOutcome::kTooLate);
  backend_.orders().poison([&](const Order& one) { return one.id == order; },
                           faults::FaultyOrderStore::Poison::kIsRefused);
  drain();
  backend_.orders().poison({});
  const auto letters = sale_->dead_letters();
  ASSERT_EQ(letters->size(), 1U);
  buy_many(*own, 300);
  EXPECT_TRUE(*sale_->retry_dead_letter(letters->front().id));
  const ChangeResult cancelled = own->cancel(order, "no");
  EXPECT_EQ(cancelled.outcome, ChangeOutcome::kTooLate) << cancelled.detail;
}

TEST_P(QueuedOrdersTest, RestartedStreamIsRead) {
  buy_many(*sale_, 10);
  const auto other = open_sale();
  EXPECT_EQ(status(*other, 1), OrderLocation::kUnknown);
  backend_.client()("DEL", "stream.orders");
  const OrderId order = buy_many(*sale_, 1).front();
  EXPECT_EQ(status(*other, order), OrderLocation::kQueued);
}

TEST_P(QueuedOrdersTest, OnlyForgottenOrdersAreSearchedInStream) {
  const OrderId in_stream = buy_many(*sale_, 10).front();
  std::size_t entries_read = 0;
  HookedClient client(backend_.keyspace().open_client(),
                      {.after = [&](const Request& request, const Reply& reply) {
                        entries_read += entries_in(request, reply);
                      }});
  QueuedOrders queued(client, SaleKeys{});
  EXPECT_TRUE(*queued.contains(in_stream));
  const auto id_in_block = [](std::int64_t block) {
    return kOrderIdLayout.make(1'700'000'000, block * OrderIdSet::kBlockIds);
  };
  constexpr auto kBlocks = static_cast<std::int64_t>(2 * OrderIdSet::kBlocksMax);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const OrderId id = id_in_block(block);
    queued.add({&id, 1});
  }
  entries_read = 0;
  EXPECT_TRUE(*queued.contains(id_in_block(kBlocks - 1)));
  EXPECT_FALSE(*queued.contains(id_in_block(kBlocks + 5))) << "an id that was never given";
  EXPECT_EQ(entries_read, 0U);
  EXPECT_FALSE(*queued.contains(id_in_block(0))) << "forgotten";
  EXPECT_EQ(entries_read, 10U);
  EXPECT_TRUE(*queued.contains(in_stream));
  drain();
  EXPECT_FALSE(*queued.contains(id_in_block(1)));
  entries_read = 0;
  EXPECT_FALSE(*queued.contains(id_in_block(2))) << "all that was forgotten is stored";
  EXPECT_EQ(entries_read, 0U);
}

/// Runs on servers: an embedded engine has no connections.
class QueuedOrdersOnServerTest : public ThreadedSaleTest {};
INSTANTIATE_TEST_SUITE_P(Servers, QueuedOrdersOnServerTest,
                         each_backend_that(&SaleBackendKind::is_server, TestTime::kMachines),
                         backend_name);

TEST_P(QueuedOrdersOnServerTest, NewConnectionForgetsOnlyOnOtherServer) {
  std::size_t entries_read = 0;
  HookedBackend counting(backend_.keyspace(),
                         {.after = [&](const Request& request, const Reply& reply) {
                           entries_read += entries_in(request, reply);
                         }});
  const auto sale = open_sale(counting);
  ASSERT_EQ(sale->publish(voucher(1, 10)), absl::OkStatus());
  std::vector<OrderId> orders;
  for (std::int64_t user = 1; user <= 5; ++user) orders.push_back(sale->buy(1, user).order);
  const auto expect_all_queued = [&] {
    for (const OrderId order : orders) {
      const auto state = sale->status(order);
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_EQ(state->location, OrderLocation::kQueued);
    }
  };
  const auto wait_for_connection = [&] {
    while (backend_.client()("PING").is_error()) {
    }
  };
  entries_read = 0;
  backend_.client()("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no");
  wait_for_connection();
  expect_all_queued();
  EXPECT_EQ(entries_read, 0U);
  backend_.save();
  backend_.roll_back();
  wait_for_connection();
  expect_all_queued();
  EXPECT_EQ(entries_read, orders.size()) << "read again, once";
}

TEST(OrderIdSetTest, IdsOfOtherSecondsDiffer) {
  OrderIdSet ids;
  const OrderId id = kOrderIdLayout.make(1'700'000'000, 5);
  ids.insert(id);
  EXPECT_TRUE(ids.contains(id));
  EXPECT_FALSE(ids.contains(kOrderIdLayout.make(1'700'000'001, 5)));
  EXPECT_FALSE(ids.contains(kOrderIdLayout.make(1'700'000'000 + 24 * 60 * 60, 5)));
  EXPECT_FALSE(ids.contains(id + OrderIdSet::kBlockIds));
  EXPECT_FALSE(ids.may_have_forgotten(id + OrderIdSet::kBlockIds));
  ids.clear();
  EXPECT_FALSE(ids.contains(id));
}

TEST(OrderIdSetTest, OldestBlocksAreForgotten) {
  OrderIdSet ids;
  const auto id = [](std::int64_t block) {
    return kOrderIdLayout.make(1'700'000'000, block * OrderIdSet::kBlockIds + 7);
  };
  constexpr auto kBlocks = static_cast<std::int64_t>(OrderIdSet::kBlocksMax);
  for (std::int64_t block = 0; block <= kBlocks; ++block) ids.insert(id(block));
  EXPECT_FALSE(ids.contains(id(0)));
  EXPECT_TRUE(ids.may_have_forgotten(id(0)));
  EXPECT_TRUE(ids.contains(id(1)));
  EXPECT_FALSE(ids.may_have_forgotten(id(1)));
  EXPECT_TRUE(ids.contains(id(kBlocks)));
}

}  // namespace
}  // namespace rushgate
