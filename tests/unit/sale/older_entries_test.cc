// Entries of the order stream as other versions of the sale write them: a rolling upgrade has workers and
// sellers of two versions.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sale/stream/group_progress.h"
#include "tests/unit/sale/payments_fixture.h"

namespace rushgate {
namespace {

using Names = std::set<std::string, std::less<>>;

class OlderEntriesTest : public PaidSaleTest {
 protected:
  /// Replaces each queued entry by one without the fields `unknown`, and with one of a later version.
  void rewrite_queued(const Names& unknown) {
    Client& client = backend_.client();
    const std::string stream = SaleKeys{}.order_stream;
    const auto progress = read_group_progress(client, SaleKeys{});
    ASSERT_TRUE(progress.ok()) << progress.status();
    const Reply entries = client("XRANGE", stream, '(' + progress->last_delivered.to_string(), "+");
    for (const Reply& entry : entries.elements()) {
      Request add = Request::of("XADD", stream, "*");
      const auto& fields = entry.elements()[1].elements();
      for (std::size_t i = 0; i < fields.size(); i += 2) {
        if (unknown.contains(fields[i].text())) continue;
        add.add(fields[i].text());
        add.add(fields[i + 1].text());
      }
      add.add("of_a_later_version");
      add.add("1");
      ASSERT_TRUE(client.call(std::move(add)).is_text());
      ASSERT_EQ(client("XDEL", stream, entry.elements()[0].text()), Reply::integer(1));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, OlderEntriesTest, each_backend(), backend_name);

TEST_P(OlderEntriesTest, EachFormOfEntryIsStored) {
  ASSERT_TRUE(sale_->publish(voucher(1, 100)).ok());
  const std::vector<Names> forms = {
      {"limit", "version", "price"},  // of systems from which users come
      {"version", "price"},
      {"price"},
      {},
  };
  std::int64_t user = 0;
  for (const Names& unknown : forms) {
    const OrderId order = bought(++user);
    rewrite_queued(unknown);
    drain();
    const Order row = stored(order);
    EXPECT_EQ(row.id, order);
    EXPECT_EQ(row.limit, 1);
    EXPECT_EQ(row.quantity, 1);
    EXPECT_EQ(row.version, unknown.contains("version") ? 0 : 1);
    EXPECT_EQ(row.price_cents, unknown.contains("price") ? 0 : 100);
  }
  expect_audit_passes();
}

TEST_P(OlderEntriesTest, UnknownFieldsOfEventsAreLeftOut) {
  publish();
  const OrderId order = bought(1);
  drain();
  ASSERT_EQ(pay(order, "p1").outcome, ChangeOutcome::kDone);
  rewrite_queued({});
  drain();
  EXPECT_EQ(stored(order).status, OrderStatus::kPaid);
  expect_audit_passes();
}

}  // namespace
}  // namespace rushgate
