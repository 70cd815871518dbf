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

// ---- Lanes: LaneStore, on each order store that has it ----

class LaneStoreTest : public OrderStoreTest {
 protected:
  LaneStore& lanes() { return *store().lanes(); }
  /// Returns the fence of a batch of the lane that was read just now.
  BatchFence fence_of(int lane, std::int64_t checkpoint) {
    const DatabaseState state = lanes().state_of(lane).value();
    return {.epoch = state.epoch,
            .checkpoint = checkpoint,
            .session = state.session,
            .lane = lane,
            .stock = {{{kVoucher, 100}}}};
  }
  /// An order of a lane with an idempotency key.
  Order order_of(int lane, std::int64_t user, const std::string& key) {
    Order order = with_key(user, key, 1'700'000'000'000);
    order.id += counters_of_lane(lane).first;
    return order;
  }
  Kind write_one(const Order& order, int lane) {
    return checked(store().write({{order}}, fence_of(lane, 1)), 1).at(0).kind;
  }
  static VoucherVersion first_version(VoucherId voucher) {
    return {.voucher = {.id = voucher, .title = "t", .stock = 1, .begin_ms = 1, .end_ms = 2},
            .version = 1};
  }
};

TEST_P(LaneStoreTest, NewStoreHasOneLane) {
  EXPECT_EQ(lanes().count_lanes().value(), 1);
  EXPECT_TRUE(lanes().voucher_lanes().value().empty());
  EXPECT_TRUE(absl::IsNotFound(lanes().state_of(1).status()));
  EXPECT_TRUE(absl::IsNotFound(lanes().fence_lane(1).status()));
  EXPECT_TRUE(absl::IsNotFound(lanes().put_on_lane(kVoucher, 1).status()));
  BatchFence fence = fence_now({});
  fence.lane = 1;
  EXPECT_TRUE(absl::IsNotFound(store().write({}, fence).status()));
}

TEST_P(LaneStoreTest, NumberOfLanesOnlyGrows) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  ASSERT_TRUE(lanes().fence_lane(2).ok());
  ASSERT_TRUE(lanes().add_lanes(2).ok());
  EXPECT_EQ(lanes().count_lanes().value(), 3);
  ASSERT_TRUE(lanes().add_lanes(5).ok());
  EXPECT_EQ(lanes().count_lanes().value(), 5);
  EXPECT_EQ(lanes().state_of(2).value().epoch, 2);
  EXPECT_EQ(lanes().state_of(4).value().epoch, 1);
  EXPECT_EQ(lanes().state_of(4).value().identity, store().state().value().identity);
}

TEST_P(LaneStoreTest, BatchChangesStateOfItsLaneAlone) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  ASSERT_TRUE(store().write({}, fence_of(0, 10)).ok());
  ASSERT_TRUE(store().write({}, fence_of(2, 20)).ok());
  ASSERT_TRUE(store().write({}, fence_of(2, 15)).ok());
  const auto checkpoint = [&](int lane) { return lanes().state_of(lane).value().checkpoint; };
  EXPECT_EQ(checkpoint(0), 10);
  EXPECT_EQ(checkpoint(1), 0);
  EXPECT_EQ(checkpoint(2), 20);
  EXPECT_EQ(lanes().state_of(2).value().revision, 21);
  EXPECT_EQ(store().state().value().revision, 10);
}

TEST_P(LaneStoreTest, FenceEndsBatchesOfItsLaneAlone) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  const BatchFence first = fence_of(0, 1);
  const BatchFence second = fence_of(1, 1);
  const BatchFence third = fence_of(2, 1);
  EXPECT_EQ(lanes().fence_lane(1).value().epoch, second.epoch + 1);
  EXPECT_TRUE(store().write({}, first).ok());
  EXPECT_TRUE(absl::IsAborted(store().write({}, second).status()));
  EXPECT_TRUE(store().write({}, third).ok());
  EXPECT_EQ(store().fence().value().epoch, first.epoch + 1);
  EXPECT_TRUE(absl::IsAborted(store().write({}, first).status()));
  EXPECT_TRUE(store().write({}, third).ok());
}

TEST_P(LaneStoreTest, EachLaneReservesIdsOfItsOwn) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  EXPECT_EQ(store().reserve_ids(20'000, 0, 100).value(), 100);
  EXPECT_EQ(lanes().reserve_ids_of(1, 20'000, 5'000, 100).value(), 5'100);
  EXPECT_EQ(lanes().reserve_ids_of(2, 20'003, 0, 50).value(), 50);
  EXPECT_EQ(lanes().reserve_ids_of(1, 20'000, 0, 100).value(), 5'200);
  EXPECT_EQ(lanes().reserve_ids_of(1, 20'000, 0, 0).value(), 5'200);
  EXPECT_EQ(store().reserve_ids(20'000, 0, 0).value(), 100);
}

TEST_P(LaneStoreTest, VoucherStaysOnItsFirstLane) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  EXPECT_EQ(lanes().lane_of(kVoucher).value(), std::nullopt);
  EXPECT_EQ(lanes().put_on_lane(kVoucher, 2).value(), 2);
  EXPECT_EQ(lanes().put_on_lane(kVoucher, 1).value(), 2);
  ASSERT_TRUE(store().vouchers()->record_pending(first_version(kVoucher)).ok());
  EXPECT_EQ(lanes().lane_of(kVoucher).value(), 2);
  EXPECT_EQ(lanes().voucher_lanes().value(), (std::map<VoucherId, int>{{kVoucher, 2}}));
}

TEST_P(LaneStoreTest, VoucherOlderThanLanesIsOnFirst) {
  ASSERT_TRUE(store().vouchers()->record_pending(first_version(kVoucher)).ok());
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  EXPECT_EQ(lanes().put_on_lane(kVoucher, 2).value(), 0);
  EXPECT_EQ(lanes().put_on_lane(kVoucher + 1, 2).value(), 2);
  EXPECT_EQ(lanes().lane_of(kVoucher).value(), 0);
  EXPECT_EQ(lanes().voucher_lanes().value(),
            (std::map<VoucherId, int>{{kVoucher, 0}, {kVoucher + 1, 2}}));
}

TEST_P(LaneStoreTest, IdempotencyKeyBelongsToOneLane) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  EXPECT_EQ(write_one(order_of(1, 10, "click"), 1), Kind::kStored);
  EXPECT_EQ(write_one(order_of(2, 10, "click"), 2), Kind::kStored);
  EXPECT_EQ(write_one(order_of(1, 11, "click"), 1), Kind::kRefused);
}

TEST_P(LaneStoreTest, MovedPiecesOnlyGrow) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  const auto record = [&](int from, int to, std::int64_t pieces) {
    return lanes().record_moved({kVoucher, from, to, pieces}, fence_of(from, 1)).code();
  };
  EXPECT_TRUE(lanes().moved_pieces(kVoucher).value().empty());
  EXPECT_EQ(record(2, 0, 5), absl::StatusCode::kOk);
  EXPECT_EQ(record(0, 1, 7), absl::StatusCode::kOk);
  EXPECT_EQ(record(2, 0, 9), absl::StatusCode::kOk);
  EXPECT_EQ(record(2, 0, 9), absl::StatusCode::kOk) << "a repetition";
  EXPECT_EQ(record(2, 0, 6), absl::StatusCode::kOk) << "an earlier number that comes late";
  const std::vector<MovedPieces> moved = {{kVoucher, 0, 1, 7}, {kVoucher, 2, 0, 9}};
  EXPECT_EQ(lanes().moved_pieces(kVoucher).value(), moved);
  EXPECT_TRUE(lanes().moved_pieces(kVoucher + 1).value().empty());

  EXPECT_EQ(record(2, 2, 5), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(record(2, 1, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(record(2, 1, -1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(record(2, 3, 1), absl::StatusCode::kNotFound);
  EXPECT_EQ(lanes().record_moved({kVoucher, 1, 0, 5}, fence_of(2, 1)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(lanes().moved_pieces(kVoucher).value(), moved);
}

TEST_P(LaneStoreTest, FenceKeepsMovedPiecesFromBeingRecorded) {
  ASSERT_TRUE(lanes().add_lanes(2).ok());
  const BatchFence first = fence_of(1, 40);
  ASSERT_TRUE(lanes().record_moved({kVoucher, 1, 0, 3}, first).ok());
  EXPECT_EQ(lanes().state_of(1).value().checkpoint, 40) << "it is a batch of the lane";
  EXPECT_EQ(store().state().value().checkpoint, 0);
  ASSERT_TRUE(lanes().fence_lane(1).ok());
  EXPECT_TRUE(absl::IsAborted(lanes().record_moved({kVoucher, 1, 0, 4}, first)));
  EXPECT_EQ(lanes().moved_pieces(kVoucher).value(),
            (std::vector<MovedPieces>{{kVoucher, 1, 0, 3}}));
}

TEST_P(LaneStoreTest, ReopenedStoreHasItsLanes) {
  ASSERT_TRUE(lanes().add_lanes(3).ok());
  ASSERT_TRUE(lanes().put_on_lane(kVoucher, 1).ok());
  ASSERT_TRUE(lanes().fence_lane(1).ok());
  ASSERT_TRUE(store().write({}, fence_of(1, 7)).ok());
  ASSERT_TRUE(lanes().reserve_ids_of(1, 20'000, 0, 100).ok());
  ASSERT_TRUE(lanes().record_moved({kVoucher, 1, 2, 8}, fence_of(1, 7)).ok());
  if (!reopen()) return;
  EXPECT_EQ(lanes().moved_pieces(kVoucher).value(),
            (std::vector<MovedPieces>{{kVoucher, 1, 2, 8}}));
  EXPECT_EQ(lanes().count_lanes().value(), 3);
  EXPECT_EQ(lanes().lane_of(kVoucher).value(), 1);
  EXPECT_EQ(lanes().state_of(1).value().epoch, 2);
  EXPECT_EQ(lanes().state_of(1).value().checkpoint, 7);
  EXPECT_EQ(lanes().reserve_ids_of(1, 20'000, 0, 100).value(), 200);
}

INSTANTIATE_TEST_SUITE_P(All, LaneStoreTest, ::testing::ValuesIn(makers_with_payments()), name_of);
INSTANTIATE_TEST_SUITE_P(All, OrderStoreTest, ::testing::ValuesIn(makers()), name_of);
INSTANTIATE_TEST_SUITE_P(All, PaymentStoreTest, ::testing::ValuesIn(makers_with_payments()),
                         name_of);

}  // namespace
}  // namespace rushgate::order_store_contract
