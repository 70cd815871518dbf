// Orders in a database of its own on a real PostgreSQL.
#pragma once

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/database_server/postgresql_server.h"
#include "tests/unit/storage/sql/written_orders.h"
#include <rushgate/order_store.h>
#include <rushgate/postgresql_order_store.h>

namespace rushgate {

inline std::unique_ptr<OrderStore> open_orders_at(const std::string& url) {
  auto store = open_postgresql_order_store(url);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

class PostgresqlTest : public ::testing::Test {
 protected:
  /// Returns the URL with an option added.
  [[nodiscard]] std::string with(const std::string& option) const { return url_ + "&" + option; }
  std::string execute(const std::string& sql) { return server_.execute(url_, sql); }

  testing::PostgresqlServer& server_ = testing::PostgresqlServer::of_program();
  const std::string url_ = server_.make_database();
};

}  // namespace rushgate
