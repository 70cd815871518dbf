// Where the cancellations of a stream are, and what it costs to know.
#include "engine/sale/stream/queued_cancellations.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class QueuedCancellationsTest : public PaidSaleTest {
 protected:
  static constexpr std::int64_t kOrders = 1'200;  // a portion is 1,000

  QueuedCancellationsTest() {
    publish(kOrders);
    std::vector<BuyRequest> requests;
    for (std::int64_t user = 1; user <= kOrders; ++user) {
      requests.push_back({.voucher = 1, .user = user});
    }
    for (const BuyResult& result : sale_->buy_all(requests)) orders_.push_back(result.order);
    cancel(orders_[0]);
    cancel(orders_[700]);
  }

  void cancel(OrderId order) {
    EXPECT_EQ(sale_->cancel(order, "no").outcome, ChangeOutcome::kDone);
  }
  void read_on() {
    const auto read_to = cancellations_.read_on();
    EXPECT_TRUE(read_to.ok()) << read_to.status();
  }
  std::vector<OrderId> of(std::vector<OrderId> orders, std::vector<VoucherId> vouchers) {
    std::vector<OrderId> found;
    const absl::Status read = cancellations_.for_each_of(
        {orders.begin(), orders.end()}, {vouchers.begin(), vouchers.end()}, [&](OrderEvent event) {
          EXPECT_EQ(event.reason, "no");
          found.push_back(event.order.id);
        });
    EXPECT_TRUE(read.ok()) << read;
    return found;
  }
  std::size_t take_entries_read() { return std::exchange(entries_read_, 0); }

  std::vector<OrderId> orders_;
  std::size_t entries_read_ = 0;
  HookedClient client_{backend_.keyspace().open_client(),
                       {.after = [this](const Request& request, const Reply& reply) {
                         if (request[0] == "XRANGE") entries_read_ += reply.elements().size();
                       }}};
  QueuedCancellations cancellations_{client_, SaleKeys{}.order_stream};
};
INSTANTIATE_TEST_SUITE_P(Backends, QueuedCancellationsTest, each_backend(), backend_name);

TEST_P(QueuedCancellationsTest, EachEntryIsReadOnce) {
  read_on();
  EXPECT_EQ(take_entries_read(), kOrders + 2 + 1U) << "all, and the first";
  cancel(orders_[5]);
  take_entries_read();
  read_on();
  EXPECT_EQ(take_entries_read(), 1 + 1U);
  EXPECT_THAT(of({}, {1}), ElementsAre(orders_[0], orders_[700], orders_[5]));
  EXPECT_EQ(take_entries_read(), 3U);
  EXPECT_THAT(of({orders_[700], orders_[9]}, {2}), ElementsAre(orders_[700]));
  EXPECT_EQ(take_entries_read(), 1U);
}

TEST_P(QueuedCancellationsTest, DeletedEntriesAreForgotten) {
  read_on();
  backend_.client()("XTRIM", SaleKeys{}.order_stream, "MAXLEN", 0);
  EXPECT_THAT(of({}, {1}), IsEmpty());
  cancel(orders_[9]);
  read_on();
  EXPECT_THAT(of({}, {1}), ElementsAre(orders_[9]));
}

TEST_P(QueuedCancellationsTest, RestartedStreamIsReadAgain) {
  read_on();
  backend_.client()("DEL", SaleKeys{}.order_stream);
  cancel(orders_[9]);
  read_on();
  EXPECT_THAT(of({}, {1}), ElementsAre(orders_[9]));
}

}  // namespace
}  // namespace rushgate
