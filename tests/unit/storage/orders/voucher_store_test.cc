// The contract of VoucherStore, on each voucher store that is built.
#include "tests/support/temporary_directory.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/voucher_store_contract.h>
#ifdef RUSHGATE_HAS_MYSQL
#include "tests/support/database_server/mariadb_server.h"
#include <rushgate/mysql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_POSTGRES
#include "tests/support/database_server/postgresql_server.h"
#include <rushgate/postgresql_order_store.h>
#endif
#ifdef RUSHGATE_HAS_SQLITE
#include <rushgate/sqlite_order_store.h>
#endif

namespace rushgate::voucher_store_contract {
namespace {

class MemoryVouchers final : public Subject {
 public:
  VoucherStore& store() override { return store_; }

 private:
  MemoryOrderStore store_;
};

#ifdef RUSHGATE_HAS_SQLITE
class SqliteSubject final : public Subject {
 public:
  VoucherStore& store() override { return *store_; }
  bool reopen() override {
    store_.reset();
    store_ = SqliteOrderStore::open(file()).value();
    return true;
  }

 private:
  [[nodiscard]] std::filesystem::path file() const { return directory_.path() / "orders"; }

  TemporaryDirectory directory_;
  std::unique_ptr<SqliteOrderStore> store_ = SqliteOrderStore::open(file()).value();
};
#endif

#if defined(RUSHGATE_HAS_POSTGRES) || defined(RUSHGATE_HAS_MYSQL)
template <class Server, auto kOpen>
class ServerVouchers final : public Subject {
 public:
  VoucherStore& store() override { return *store_->vouchers(); }
  bool reopen() override {
    store_.reset();
    store_ = kOpen(url_, {}).value();
    return true;
  }

 private:
  const std::string url_ = Server::of_program().make_schema();
  std::unique_ptr<OrderStore> store_ = kOpen(url_, {}).value();
};
#endif

template <class MadeSubject>
std::unique_ptr<Subject> make_vouchers() {
  return std::make_unique<MadeSubject>();
}

std::vector<Maker> voucher_makers() {
  return {
      {"Memory", make_vouchers<MemoryVouchers>},
#ifdef RUSHGATE_HAS_SQLITE
      {"Sqlite", make_vouchers<SqliteSubject>},
#endif
#ifdef RUSHGATE_HAS_POSTGRES
      {"Postgresql",
       make_vouchers<ServerVouchers<testing::PostgresqlServer, open_postgresql_order_store>>},
#endif
#ifdef RUSHGATE_HAS_MYSQL
      {"Mysql", make_vouchers<ServerVouchers<testing::MariadbServer, open_mysql_order_store>>},
#endif
  };
}

INSTANTIATE_TEST_SUITE_P(All, VoucherStoreTest, ::testing::ValuesIn(voucher_makers()), name_of);

}  // namespace
}  // namespace rushgate::voucher_store_contract
