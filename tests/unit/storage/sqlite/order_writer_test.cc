// What a batch of orders reads.
#include <cstdint>
#include <span>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include "storage/sqlite/order_table.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"

namespace rushgate {
namespace {

class OrderWriterTest : public SqliteTest {
 protected:
  void SetUp() override { open(); }

  /// Writes orders of one user, all in one batch, and then all of them again. Returns the
  /// instructions that SQLite runs for the second batch.
  std::int64_t redelivery_cost(std::int64_t count, std::int64_t limit) {
    SQLite::Database raw = open_raw();
    OrderWriter writer(raw);
    std::vector<Order> orders = make_orders(next_, count);
    for (Order& order : orders) {
      order.user = next_;
      order.limit = limit;
    }
    next_ += count;
    const BatchFence fence{.stock = {{{kVoucher, 1'000'000}}}};
    const auto write = [&](OrderResult::Kind expected) {
      for (const OrderResult& result : writer.store_all(orders, fence)) {
        EXPECT_EQ(result.kind, expected) << result.reason;
      }
    };
    write(OrderResult::Kind::kStored);
    std::int64_t instructions = 0;
    const auto count_one = [](void* counted) {
      ++*static_cast<std::int64_t*>(counted);
      return 0;
    };
    sqlite3_progress_handler(raw.getHandle(), 1, count_one, &instructions);
    write(OrderResult::Kind::kAlreadyStored);
    sqlite3_progress_handler(raw.getHandle(), 0, nullptr, nullptr);
    return instructions;
  }

 private:
  OrderId next_ = 1;
};

// A restored keyspace delivers again what the order database has. If each order read all orders of
// its user, the batch of one user would take minutes, and hold the database for as long.
TEST_F(OrderWriterTest, RedeliveryOfOneUsersOrdersTakesLinearTime) {
  constexpr std::int64_t kFew = 100;
  constexpr std::int64_t kMany = 1'000;
  const std::int64_t few = redelivery_cost(kFew, 0);
  EXPECT_GT(few, 0);
  EXPECT_LT(redelivery_cost(kMany, 0), 2 * (kMany / kFew) * few);
}

}  // namespace
}  // namespace rushgate
