// The ledger of docs/order-databases.md books each payment once.
#include <libpq-fe.h>
#include <poll.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/storage/postgresql/postgresql_fixture.h"
#include <rushgate/payment_store.h>

namespace rushgate {
namespace {

/// Returns the blocks of SQL in the section "Feeding a ledger".
std::vector<std::string> blocks_of_page() {
  std::ifstream in(RUSHGATE_ROOT "/docs/order-databases.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kBegin = "```sql\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(kBegin, page.find("## Feeding a ledger"));
       at != std::string::npos; at = page.find(kBegin, at)) {
    at += kBegin.size();
    blocks.push_back(page.substr(at, page.find("```\n", at) - at));
  }
  return blocks;
}

using LedgerExampleTest = PostgresqlTest;

TEST_F(LedgerExampleTest, EachPaymentIsBookedOnce) {
  const std::vector<std::string> blocks = blocks_of_page();
  ASSERT_EQ(blocks.size(), 2U);
  const auto store = open_orders_at(url_);
  execute(blocks[0]);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> listener(PQconnectdb(url_.c_str()), PQfinish);
  PQclear(PQexec(listener.get(), "LISTEN order_changes"));

  std::vector<Order> orders = orders_from(1, 3);
  for (Order& order : orders) {
    order.status = OrderStatus::kUnpaid;
    order.price_cents = 250;
  }
  ASSERT_TRUE(write_orders(*store, orders).ok());
  const auto pay = [&](OrderId id) {
    const OrderEvent paid{.kind = OrderEvent::Kind::kPaid,
                          .order = orders[static_cast<std::size_t>(id - 1)],
                          .payment = {.id = "p" + std::to_string(id), .amount_cents = 250}};
    const BatchFence fence{.epoch = 1, .session = store->state()->session};
    ASSERT_TRUE(store->payments()->apply(std::span(&paid, 1), fence).ok());
  };
  pay(1);
  pay(2);
  const std::string interrupted = blocks[1].substr(0, blocks[1].find("COMMIT"));
  execute(interrupted);
  EXPECT_EQ(execute("SELECT count(*) FROM ledger"), "0");
  {
    // A second program waits for the first one, and books what is left: nothing.
    testing::PostgresqlSession first(url_);
    testing::PostgresqlSession second(url_);
    first.execute(interrupted);
    second.send(blocks[1]);
    first.execute("COMMIT");
    EXPECT_TRUE(second.wait());
  }
  execute(blocks[1]);
  EXPECT_EQ(execute("SELECT count(*) || ', ' || sum(amount_cents) FROM ledger"), "2, 500");
  pay(3);
  execute(blocks[1]);
  EXPECT_EQ(execute("SELECT count(*) || ', ' || sum(amount_cents) FROM ledger"), "3, 750");

  pollfd socket{.fd = PQsocket(listener.get()), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&socket, 1, 10'000), 1);
  PQconsumeInput(listener.get());
  PGnotify* const notice = PQnotifies(listener.get());
  ASSERT_NE(notice, nullptr);
  EXPECT_EQ(std::string(notice->relname), "order_changes");
  PQfreemem(notice);
}

}  // namespace
}  // namespace rushgate
