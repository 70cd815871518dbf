// The contracts of OrderStore and PaymentStore, on each order store that is built and on one of a user's own.
#include "tests/project/own_order_store/file_order_store.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/payment_store_contract.h>
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

namespace rushgate::order_store_contract {
namespace {

class MemorySubject final : public Subject {
 public:
  OrderStore& store() override { return store_; }

 private:
  MemoryOrderStore store_;
};

/// A store in a file.
template <class FileStore>
class FileSubject final : public Subject {
 public:
  OrderStore& store() override { return *store_; }
  bool reopen() override {
    store_.reset();
    store_ = FileStore::open(file()).value();
    return true;
  }

 private:
  [[nodiscard]] std::filesystem::path file() const { return directory_.path() / "orders"; }

  TemporaryDirectory directory_;
  std::unique_ptr<FileStore> store_ = FileStore::open(file()).value();
};

#if defined(RUSHGATE_HAS_POSTGRES) || defined(RUSHGATE_HAS_MYSQL)
/// A schema of its own on the server of the program.
template <class Server, auto kOpen>
class ServerSubject final : public Subject {
 public:
  OrderStore& store() override { return *store_; }
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
std::unique_ptr<Subject> make() {
  return std::make_unique<MadeSubject>();
}

std::vector<Maker> makers() {
  return {
      {"Memory", make<MemorySubject>, /*keeps_payments=*/true},
      {"OfOnesOwn", make<FileSubject<FileOrderStore>>},
#ifdef RUSHGATE_HAS_SQLITE
      {"Sqlite", make<FileSubject<SqliteOrderStore>>, /*keeps_payments=*/true},
#endif
#ifdef RUSHGATE_HAS_POSTGRES
      {"Postgresql", make<ServerSubject<testing::PostgresqlServer, open_postgresql_order_store>>,
       /*keeps_payments=*/true},
#endif
#ifdef RUSHGATE_HAS_MYSQL
      {"Mysql", make<ServerSubject<testing::MariadbServer, open_mysql_order_store>>,
       /*keeps_payments=*/true},
#endif
  };
}

std::vector<Maker> makers_with_payments() {
  std::vector<Maker> with_payments = makers();
  std::erase_if(with_payments, [](const Maker& maker) { return !maker.keeps_payments; });
  return with_payments;
}

INSTANTIATE_TEST_SUITE_P(All, OrderStoreTest, ::testing::ValuesIn(makers()), name_of);
INSTANTIATE_TEST_SUITE_P(All, PaymentStoreTest, ::testing::ValuesIn(makers_with_payments()),
                         name_of);

}  // namespace
}  // namespace rushgate::order_store_contract
