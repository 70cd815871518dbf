#include "tests/storage/orders/order_store_backends.h"

#include "storage/memory/memory_order_store.h"
#ifdef RUSHGATE_HAS_SQLITE
#include "storage/sqlite/sqlite_order_store.h"
#include "tests/storage/sqlite/temporary_database.h"
#endif

namespace rushgate {
namespace {

class MemoryBackend final : public OrderStoreBackend {
 public:
  OrderStore& store() override { return store_; }

 private:
  MemoryOrderStore store_;
};

#ifdef RUSHGATE_HAS_SQLITE
class SqliteBackend final : public OrderStoreBackend {
 public:
  OrderStore& store() override { return *store_; }

 private:
  TemporaryDatabase database_;
  std::unique_ptr<SqliteOrderStore> store_ = SqliteOrderStore::open(database_.file()).value();
};
#endif

template <class Backend>
std::unique_ptr<OrderStoreBackend> make() {
  return std::make_unique<Backend>();
}

}  // namespace

std::vector<OrderStoreKind> order_store_kinds() {
  return {
      {"Memory", make<MemoryBackend>},
#ifdef RUSHGATE_HAS_SQLITE
      {"Sqlite", make<SqliteBackend>},
#endif
  };
}

}  // namespace rushgate
