// Contradictions in a server database are found, and named. What its owner may add breaks nothing.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/database_server/mariadb_server.h"
#include "tests/support/database_server/postgresql_server.h"
#include "tests/unit/storage/sql/written_orders.h"
#include <rushgate/archive_store.h>
#include <rushgate/mysql_order_store.h>
#include <rushgate/payment_store.h>
#include <rushgate/postgresql_order_store.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

/// A database, and how its owner changes it.
struct OwnedDatabase {
  std::string url;
  std::function<absl::StatusOr<std::unique_ptr<OrderStore>>(const std::string& url, bool read_only)>
      open;
  std::function<std::string(const std::string& sql)> execute;
  std::string reader_url;                // of a user who may only read
  std::vector<std::string> make_reader;  // statements
};

OwnedDatabase owned_postgresql() {
  auto& server = testing::PostgresqlServer::of_program();
  const std::string url = server.make_database();
  std::string reader = url;
  reader.replace(reader.find("rushgate@"), 8, "reader");
  return {.url = url,
          .open =
              [](const std::string& at, bool read_only) {
                return open_postgresql_order_store(at, {.read_only = read_only});
              },
          .execute = [&server, url](const std::string& sql) { return server.execute(url, sql); },
          .reader_url = reader,
          .make_reader = {"CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA public TO reader",
                          "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"}};
}

OwnedDatabase owned_mariadb() {
  auto& server = testing::MariadbServer::of_program();
  const std::string url = server.make_database();
  const std::string name = testing::database_in(url);
  std::string reader = url;
  reader.replace(reader.find("root@"), 4, "reader");
  return {
      .url = url,
      .open = [](const std::string& at,
                 bool read_only) { return open_mysql_order_store(at, {.read_only = read_only}); },
      .execute = [&server, name](const std::string& sql) { return server.execute(name, sql); },
      .reader_url = reader,
      .make_reader = {"CREATE USER IF NOT EXISTS reader@localhost",
                      "GRANT SELECT ON `" + name + "`.* TO reader@localhost"}};
}

std::string name_of_owned(const ::testing::TestParamInfo<OwnedDatabase (*)()>& tested) {
  return tested.index == 0 ? "Postgresql" : "Mariadb";
}

class SqlIntegrityTest : public ::testing::TestWithParam<OwnedDatabase (*)()> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.ok()) << store_.status();
    for (const VoucherId id : {1, 2}) {
      const Voucher voucher{.id = id, .stock = 1'000, .end_ms = 1'000};
      ASSERT_TRUE(store().vouchers()->record_pending({.voucher = voucher, .version = 1}).ok());
      ASSERT_TRUE(store().vouchers()->resolve(id, 1, VoucherVersion::State::kApplied, "").ok());
    }
    std::vector<OrderEvent> events;
    for (Order order : orders_from(1, 10)) {
      order.voucher = order.id <= 5 ? 1 : 2;
      events.push_back({.kind = OrderEvent::Kind::kAdmitted, .order = order});
      events.push_back({.kind = OrderEvent::Kind::kUsed, .order = {.id = order.id}});
      events.push_back({.kind = OrderEvent::Kind::kSurplusPayment,
                        .order = {.id = order.id},
                        .payment = {.id = "p" + std::to_string(order.id), .amount_cents = 5}});
      events.push_back({.kind = OrderEvent::Kind::kPaymentRefunded,
                        .payment = {.id = "p" + std::to_string(order.id)}});
    }
    const auto state = store().state().value();
    const auto applied =
        store().payments()->apply(events, {.epoch = state.epoch, .session = state.session});
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(count_kind(*applied, OrderResult::Kind::kStored), events.size());
  }

  OrderStore& store() { return **store_; }
  void archive_voucher_2() {
    ASSERT_TRUE(store().archive()->archive_voucher(2, 2'000).ok());
    ASSERT_EQ(store().archive()->archive_orders(2, 2).value(), 2U);
  }

  const OwnedDatabase database_ = GetParam()();
  absl::StatusOr<std::unique_ptr<OrderStore>> store_ = database_.open(database_.url, false);
};
INSTANTIATE_TEST_SUITE_P(Databases, SqlIntegrityTest,
                         ::testing::Values(owned_postgresql, owned_mariadb), name_of_owned);

TEST_P(SqlIntegrityTest, SoundDatabasePasses) {
  EXPECT_TRUE(store().check_integrity().ok()) << store().check_integrity();
  archive_voucher_2();
  EXPECT_TRUE(store().check_integrity().ok()) << store().check_integrity();
  EXPECT_EQ(store().archive()->archive_orders(2, 100).value(), 3U);
  EXPECT_EQ(store().archive()->delete_orders(2, 100).value(), 5U);
  EXPECT_TRUE(store().check_integrity().ok()) << store().check_integrity();
}

TEST_P(SqlIntegrityTest, ContradictionsAreNamed) {
  archive_voucher_2();
  struct Damage {
    const char* sql;
    const char* problem;
    const char* mend;
  };
  for (const Damage& damage : std::vector<Damage>{
           {"UPDATE live_orders SET live = live - 1 WHERE voucher_id = 1",
            "voucher 1: live_orders counts 4 pieces, and the orders have 5",
            "UPDATE live_orders SET live = live + 1 WHERE voucher_id = 1"},
           {"UPDATE database_state SET last_change = last_change + 3",
            "of the changes 1 to 13, 10 are there, the last one is 10",
            "UPDATE database_state SET last_change = last_change - 3"},
           {"INSERT INTO payments SELECT * FROM archived_payments WHERE order_id = 6",
            "payment p6 is archived and not archived", "DELETE FROM payments WHERE order_id = 6"},
           {"INSERT INTO orders SELECT * FROM archived_orders WHERE id = 6",
            "order 6 is archived and not archived", "DELETE FROM orders WHERE id = 6"},
           {"INSERT INTO voucher_versions SELECT * FROM archived_versions",
            "voucher 2 is archived and has versions",
            "DELETE FROM voucher_versions WHERE voucher_id = 2"},
           {"UPDATE archived_versions SET state = 2", "voucher 2 is archived without a version",
            "UPDATE archived_versions SET state = 1"},
           {"UPDATE archived_payments SET order_id = 5 WHERE order_id = 6",
            "payment p6 is archived, and its order is not",
            "UPDATE archived_payments SET order_id = 6 WHERE order_id = 5"},
           {"DELETE FROM archived_vouchers", "voucher 2 has archived orders and is not archived",
            "INSERT INTO archived_vouchers VALUES (2, 2000, 0)"}}) {
    database_.execute(damage.sql);
    const absl::Status checked = store().check_integrity();
    EXPECT_TRUE(absl::IsDataLoss(checked)) << damage.sql;
    EXPECT_THAT(checked.ToString(), HasSubstr(damage.problem));
    database_.execute(damage.mend);
    EXPECT_TRUE(store().check_integrity().ok()) << store().check_integrity();
  }
}

TEST_P(SqlIntegrityTest, IndexesAndReadersOfOwnerBreakNothing) {
  for (const std::string& sql : database_.make_reader) database_.execute(sql);
  database_.execute("CREATE INDEX mine ON orders (reference, status)");
  database_.execute("CREATE INDEX mine_too ON order_changes (at_ms, position)");
  database_.execute("CREATE VIEW my_orders AS SELECT * FROM orders_readable WHERE status = 'used'");
  expect_writes(store(), 100);
  archive_voucher_2();
  EXPECT_EQ(database_.execute("SELECT count(*) FROM my_orders"), "10");

  const auto reader = database_.open(database_.reader_url, true);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->list({})->size(), 9U);
  EXPECT_EQ((*reader)->archive()->list_archived({})->size(), 2U);
  EXPECT_EQ((*reader)->payments()->changes(0, 100, {})->size(), 10U);
  EXPECT_TRUE((*reader)->check_integrity().ok()) << (*reader)->check_integrity();
  EXPECT_THAT(write_orders(**reader, orders_from(200, 1)).status().ToString(), HasSubstr("denied"));
  // Opening again migrates nothing, and creates nothing.
  const auto again = database_.open(database_.url, false);
  ASSERT_TRUE(again.ok()) << again.status();
  expect_writes(**again, 101);
}

}  // namespace
}  // namespace rushgate
