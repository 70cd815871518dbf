// What the status of a queued order costs, and when it reads the order stream.
#include "engine/sale/orders/queued_orders.h"

#include <gmock/gmock.h>

#include "engine/sale/ids/id_generator.h"
#include "tests/sale/sale_fixture.h"

namespace rushgate {
namespace {

/// Counts the entries of streams that are read through it, and passes all on.
class ReadingClient final : public Client {
 public:
  explicit ReadingClient(Client& client) : client_(client) {}

  void submit(Request request, Completion completion) override {
    client_.submit(std::move(request), std::move(completion));
  }
  Reply call(Request request) override {
    const bool is_range = request[0] == "XRANGE";
    Reply reply = client_.call(std::move(request));
    if (is_range) entries_read_ += reply.elements().size();
    return reply;
  }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    return client_.pipeline(requests);
  }
  void unblock() override { client_.unblock(); }
  Reply sync() override { return client_.sync(); }

  /// Returns how many were read since the last call.
  std::size_t take_entries_read() { return std::exchange(entries_read_, 0); }

 private:
  Client& client_;
  std::size_t entries_read_ = 0;
};

class QueuedOrdersTest : public SaleTest {
 protected:
  static constexpr std::int64_t kOrders = 2'500;  // a portion is 1,000

  QueuedOrdersTest() { EXPECT_TRUE(sale_->publish(voucher(1, 10 * kOrders)).ok()); }

  static std::unique_ptr<Sale> open_sale(Client& client, SaleBackend& backend) {
    return *Sale::open(client, backend.orders(), backend.clock());
  }

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

  static OrderState::Kind status(Sale& sale, OrderId order) {
    const auto state = sale.status(order);
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->kind : OrderState::Kind::kFailed;
  }

 private:
  UserId user_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Backends, QueuedOrdersTest,
                         ::testing::Values(BackendKind::kMemory, BackendKind::kRocksDb,
                                           BackendKind::kRedis),
                         backend_name);

TEST_P(QueuedOrdersTest, OwnOrdersNeedNoReading) {
  ReadingClient client(backend_.client());
  const auto sale = open_sale(client, backend_);
  const std::vector<OrderId> orders = buy_many(*sale);
  const BuyResult single = sale->buy(1, 1'000'000);
  client.take_entries_read();
  for (const OrderId order : orders) EXPECT_EQ(status(*sale, order), OrderState::Kind::kQueued);
  EXPECT_EQ(status(*sale, single.order), OrderState::Kind::kQueued);
  EXPECT_EQ(client.take_entries_read(), 0U);
}

TEST_P(QueuedOrdersTest, OrdersOfOthersAreReadOnce) {
  const std::vector<OrderId> orders = buy_many(*sale_);
  ReadingClient client(backend_.client());
  const auto other = open_sale(client, backend_);
  client.take_entries_read();
  for (const OrderId order : orders) EXPECT_EQ(status(*other, order), OrderState::Kind::kQueued);
  EXPECT_EQ(client.take_entries_read(), orders.size());
  const OrderId later = buy_many(*sale_, 1).front();
  EXPECT_EQ(status(*other, later), OrderState::Kind::kQueued);
  EXPECT_EQ(status(*other, later + 1'000), OrderState::Kind::kUnknown);
  EXPECT_EQ(client.take_entries_read(), 1U);
}

TEST_P(QueuedOrdersTest, StoredOrdersAreNotRead) {
  buy_many(*sale_);
  backend_.client()("XGROUP", "CREATE", "stream.orders", "analytics", "0");  // nothing is trimmed
  drain();
  ReadingClient client(backend_.client());
  const auto other = open_sale(client, backend_);
  const OrderId queued = buy_many(*sale_, 1).front();
  client.take_entries_read();
  EXPECT_EQ(status(*other, queued), OrderState::Kind::kQueued);
  EXPECT_EQ(client.take_entries_read(), 1U);
  drain();
  EXPECT_EQ(status(*other, queued), OrderState::Kind::kCreated);
}

TEST_P(QueuedOrdersTest, PendingOrdersAreQueued) {
  const std::vector<OrderId> orders = buy_many(*sale_, 3);
  worker_->step();
  const std::vector<OrderId> others = buy_many(*sale_, 3);
  backend_.client()("XREADGROUP", "GROUP", "g1", "stranger", "COUNT", 2, "STREAMS", "stream.orders",
                    ">");
  const auto other = open_sale(backend_.client(), backend_);
  for (const OrderId order : others) EXPECT_EQ(status(*other, order), OrderState::Kind::kQueued);
  EXPECT_EQ(status(*other, orders.back() + 1'000), OrderState::Kind::kUnknown);
}

TEST_P(QueuedOrdersTest, RefusedOrderIsUnknown) {
  const OrderId accepted = buy_many(*sale_, 1).front();
  EXPECT_EQ(buy(1, 1), Outcome::kLimitReached);  // with the next id
  EXPECT_EQ(status(*sale_, accepted + 1), OrderState::Kind::kUnknown);
}

TEST_P(QueuedOrdersTest, StreamThatBeginsFromScratchIsRead) {
  buy_many(*sale_, 10);
  const auto other = open_sale(backend_.client(), backend_);
  EXPECT_EQ(status(*other, 1), OrderState::Kind::kUnknown);
  backend_.client()("DEL", "stream.orders");
  const OrderId order = buy_many(*sale_, 1).front();
  EXPECT_EQ(status(*other, order), OrderState::Kind::kQueued);
}

TEST(OrderIdSetTest, IdsOfOtherSecondsAreOthers) {
  OrderIdSet ids;
  const OrderId id = IdGenerator::make(1'700'000'000, 5);
  ids.insert(id);
  EXPECT_TRUE(ids.contains(id));
  EXPECT_FALSE(ids.contains(IdGenerator::make(1'700'000'001, 5)));
  EXPECT_FALSE(ids.contains(IdGenerator::make(1'700'000'000 + 24 * 60 * 60, 5)));
  EXPECT_FALSE(ids.contains(id + OrderIdSet::kBlockIds));
  EXPECT_FALSE(ids.may_have_forgotten(id + OrderIdSet::kBlockIds));
  ids.clear();
  EXPECT_FALSE(ids.contains(id));
}

TEST(OrderIdSetTest, OldestBlocksAreForgotten) {
  OrderIdSet ids;
  const auto id = [](std::int64_t block) {
    return IdGenerator::make(1'700'000'000, block * OrderIdSet::kBlockIds + 7);
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
