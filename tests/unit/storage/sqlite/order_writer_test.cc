// What a batch of orders reads.
#include <cstdint>
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

  /// The instructions that SQLite runs.
  struct Cost {
    std::int64_t first = 0;
    std::int64_t redelivery = 0;
  };
  /// Writes orders of one user in one batch, and once more.
  Cost write_twice(std::int64_t count, std::int64_t limit) {
    SQLite::Database raw = open_raw();
    OrderWriter writer(raw);
    std::vector<Order> orders = make_orders(next_, count);
    for (Order& order : orders) {
      order.user = next_;
      order.limit = limit;
    }
    next_ += count;
    std::int64_t instructions = 0;
    const auto count_one = [](void* counted) {
      ++*static_cast<std::int64_t*>(counted);
      return 0;
    };
    sqlite3_progress_handler(raw.getHandle(), 1, count_one, &instructions);
    const BatchFence fence{.stock = {{{kVoucher, 1'000'000}}}};
    const auto write = [&](OrderResult::Kind expected) {
      const std::int64_t before = instructions;
      for (const OrderResult& result : writer.store_all(orders, fence)) {
        EXPECT_EQ(result.kind, expected) << result.reason;
      }
      return instructions - before;
    };
    const std::int64_t first = write(OrderResult::Kind::kStored);
    return {.first = first, .redelivery = write(OrderResult::Kind::kAlreadyStored)};
  }

 private:
  OrderId next_ = 1;
};

// One user may have bought a whole batch, which a restored keyspace delivers again. If each order
// read all orders of its user, the batch would take minutes, and hold the database for as long.
TEST_F(OrderWriterTest, OrdersOfOneUserTakeLinearTime) {
  constexpr std::int64_t kFew = 100;
  constexpr std::int64_t kMany = 1'000;
  for (const std::int64_t limit : {std::int64_t{0}, kMany}) {
    const Cost few = write_twice(kFew, limit);
    const Cost many = write_twice(kMany, limit);
    EXPECT_LT(many.first, 2 * (kMany / kFew) * few.first) << limit;
    EXPECT_LT(many.redelivery, 2 * (kMany / kFew) * few.redelivery) << limit;
  }
}

}  // namespace
}  // namespace rushgate
