// Tests of opening: creation, migration, refusal.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "storage/sqlite/schema.h"
#include "tests/support/faults/recorded_syncs.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

class SqliteOpenTest : public SqliteTest {
 protected:
  std::string contents() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::int64_t pragma(const char* name) const {
    return open_raw().execAndGet(std::string("PRAGMA ") + name).getInt64();
  }
  /// Expects that opening fails with this code, names the file, and leaves it unchanged.
  void expect_refused(absl::StatusCode code, const std::string& because) {
    const std::string before = contents();
    for (const bool read_only : {false, true}) {
      options_.read_only = read_only;
      const absl::Status status = try_open().status();
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_NE(status.message().find(file().string()), std::string::npos) << status;
      EXPECT_NE(status.message().find(because), std::string::npos) << status;
    }
    EXPECT_EQ(contents(), before);
  }
};

TEST_F(SqliteOpenTest, NewDatabaseIsCreatedAndReopened) {
  EXPECT_TRUE(write_now(*open(), make_orders(1, 3)).ok());
  EXPECT_EQ(open()->list({})->size(), 3U);
  EXPECT_EQ(pragma("application_id"), kApplicationId);
  EXPECT_EQ(pragma("user_version"), static_cast<std::int64_t>(migrations().size()));
  EXPECT_EQ(check_integrity(), "ok");
}

TEST_F(SqliteOpenTest, NewDatabaseSurvivesWithItsDirectory) {
  const std::filesystem::path dir = database_.directory();
  const faults::RecordedSyncs syncs;
  const auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 3)).ok());
  EXPECT_THAT(syncs.paths(), ::testing::IsSupersetOf({dir.parent_path(), dir}));
}

TEST_F(SqliteOpenTest, EmptyFileBecomesDatabase) {
  std::ofstream(file()).close();
  EXPECT_TRUE(write_now(*open(), make_orders(1, 1)).ok());
}

TEST_F(SqliteOpenTest, EveryTableIsStrict) {
  open();
  SQLite::Database raw = open_raw();
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM pragma_table_list "
                           "WHERE schema = 'main' AND name NOT LIKE 'sqlite%' AND NOT strict")
                .getInt(),
            0);
}

TEST_F(SqliteOpenTest, FileNameIsNeverUri) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(database_.directory());
  for (const char* const name : {":memory:", "file:x?mode=memory"}) {
    EXPECT_TRUE(write_now(**SqliteOrderStore::open(name), make_orders(1, 1)).ok());
    EXPECT_TRUE(std::filesystem::exists(database_.directory() / name));
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(SqliteOrderStore::open("").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SqliteOpenTest, MissingDirectoryIsNamedInError) {
  const absl::Status status = SqliteOrderStore::open(file() / "x" / "orders.db").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find((file() / "x" / "orders.db").string()), std::string::npos);
}

TEST_F(SqliteOpenTest, OpeningIsLogged) {
  std::ostringstream text;
  options_.logger = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  open();
  EXPECT_NE(text.str().find("created " + file().string()), std::string::npos) << text.str();
  open();
  EXPECT_NE(text.str().find("opened " + file().string()), std::string::npos) << text.str();
}

// ---- Refusals ---------------------------------------------------------------------------------

TEST_F(SqliteOpenTest, ConcurrentOpenersCreateOneDatabase) {
  constexpr int kFiles = 40;
  constexpr int kProcesses = 4;
  for (int number = 0; number < kFiles; ++number) {
    const TemporaryDirectory directory;
    std::latch start(kProcesses);
    std::vector<std::thread> processes;
    for (int i = 0; i < kProcesses; ++i) {
      processes.emplace_back([&] {
        start.arrive_and_wait();
        auto opened = SqliteOrderStore::open(directory.path() / "orders.db");
        while (absl::IsUnavailable(opened.status())) {  // locked
          opened = SqliteOrderStore::open(directory.path() / "orders.db");
        }
        EXPECT_TRUE(opened.ok()) << opened.status();
      });
    }
    for (std::thread& process : processes) process.join();
  }
}

TEST_F(SqliteOpenTest, CopyIsAnotherInstance) {
  const auto store = open();
  const DatabaseInstance instance = store->instance().value();
  std::filesystem::create_symlink(file(), file().string() + ".link");
  std::filesystem::copy_file(file(), file().string() + ".copy");
  EXPECT_EQ(SqliteOrderStore::open(file().string() + ".link").value()->instance()->id, instance.id);
  EXPECT_NE(SqliteOrderStore::open(file().string() + ".copy").value()->instance()->id, instance.id);
  EXPECT_THAT(instance.name, HasSubstr(file().string() + " on "));
}

TEST_F(SqliteOpenTest, NewerVersionIsRefused) {
  open();
  open_raw().exec("PRAGMA user_version = 1000");
  expect_refused(absl::StatusCode::kUnimplemented, "version 1000");
}

TEST_F(SqliteOpenTest, ForeignDatabaseIsRefused) {
  open_raw().exec("CREATE TABLE theirs (x)");
  expect_refused(absl::StatusCode::kFailedPrecondition, "somebody else's");
  open_raw().exec("DROP TABLE theirs; PRAGMA application_id = 5");
  expect_refused(absl::StatusCode::kFailedPrecondition, "application id 0x00000005");
}

TEST_F(SqliteOpenTest, FileThatIsNoDatabaseIsRefused) {
  std::ofstream(file()) << std::string(5000, 'x');
  expect_refused(absl::StatusCode::kDataLoss, "not a database");
}

TEST_F(SqliteOpenTest, DamagedDatabaseIsDataLoss) {
  write_now(*open(), make_orders(1, 1000)).value();
  std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(2048);
  out << std::string(60'000, 'x');
  out.close();
  const auto store = try_open();
  const absl::Status status = store.ok() ? (*store)->list({}).status() : store.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  if (store.ok()) {
    EXPECT_EQ(write_now(**store, make_orders(1, 1000)).status().code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(SqliteOpenTest, UnwritableFileIsUnavailable) {
  using std::filesystem::perms;
  open();
  std::filesystem::permissions(file(), perms::owner_read | perms::others_read);
  std::filesystem::permissions(database_.directory(), perms::all);
  // A child process gives up root, because root may write to any file.
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65'534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
    _exit(try_open().status().code() == absl::StatusCode::kUnavailable ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// ---- Migrations -------------------------------------------------------------------------------

constexpr const char* kLater[] = {
    "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);",
    "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1;",
    "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);",
};

std::span<const char* const> first_migrations(std::size_t count) {
  return std::span(kLater).first(count);
}

TEST_F(SqliteOpenTest, MigrationRunsOnceFromAnyVersion) {
  SQLite::Database raw = open_raw();
  EXPECT_EQ(migrate(raw, first_migrations(1)).value(), 0);
  EXPECT_EQ(migrate(raw, first_migrations(1)).value(), 1);
  EXPECT_EQ(migrate(raw, first_migrations(2)).value(), 1);
  EXPECT_EQ(migrate(raw, first_migrations(2)).value(), 2);
  EXPECT_EQ(raw.execAndGet("SELECT y FROM a").getInt(), 2);
  EXPECT_EQ(migrate(raw, first_migrations(1)).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(SqliteOpenTest, AllMigrationsRunOnEmptyDatabase) {
  SQLite::Database raw = open_raw();
  EXPECT_EQ(migrate(raw, first_migrations(2)).value(), 0);
  EXPECT_EQ(raw.execAndGet("SELECT y FROM a").getInt(), 2);
}

TEST_F(SqliteOpenTest, FailedMigrationKeepsEarlierVersion) {
  SQLite::Database raw = open_raw();
  EXPECT_TRUE(migrate(raw, first_migrations(1)).ok());
  EXPECT_THROW(migrate(raw, first_migrations(3)).IgnoreError(), SQLite::Exception);
  EXPECT_EQ(read_version(raw, 3).value(), 1);
  EXPECT_FALSE(raw.tableExists("b"));
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM pragma_table_info('a')").getInt(), 1);
}

TEST_F(SqliteOpenTest, FirstVersionOrdersHaveUnknownCreationTime) {
  {
    SQLite::Database raw = open_raw();
    ASSERT_TRUE(migrate(raw, migrations().first(1)).ok());
    raw.exec("INSERT INTO orders VALUES (1, 1, 7, 1, 1, 1, 1, 0)");
  }
  options_.read_only = true;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kFailedPrecondition);
  options_.read_only = false;
  std::vector<Order> orders = make_orders(1, 2);
  orders[1].created_at_ms = 17;
  const auto store = open();
  EXPECT_EQ(write_now(*store, orders).value()[0].kind, OrderResult::Kind::kAlreadyStored);
  EXPECT_TRUE(store->list({}).value() == orders);
  EXPECT_EQ(check_integrity(), "ok");
}

/// Writes a database as the version before payments did: two orders under limit 1 by two users, two
/// under limit 3 by a third, and a voucher with three versions.
void write_version_4(SQLite::Database& raw) {
  ASSERT_TRUE(migrate(raw, migrations().first(4)).ok());
  raw.exec(R"sql(
    INSERT INTO orders VALUES (1, 1, 7, 1, 1, 11, 12, 0, 13);
    INSERT INTO orders VALUES (2, 2, 7, 1, 1, 21, 22, 1, 0);
    INSERT INTO orders VALUES (3, 3, 7, 1, 3, 31, 32, -1, 33);
    INSERT INTO orders VALUES (4, 3, 7, 1, 3, 41, 42, 0, 43);
    INSERT INTO live_orders VALUES (7, 4);
    INSERT INTO voucher_versions VALUES (7, 1, 1, '', 'Tea', 5, 0, 9, 100, 0, 1, 0, 0);
    INSERT INTO voucher_versions VALUES (7, 2, 1, '', 'Coffee', 10, 1, 9, 250, 4, 3, 2, 60);
    INSERT INTO voucher_versions VALUES (7, 3, 2, 'no', 'Coffee', 1, 0, 9, 100, 0, 1, 0, 0);
    UPDATE database_state SET identity = '0123456789abcdef', epoch = 3, checkpoint = 5;
    INSERT INTO reserved_ids VALUES (20000, 100);
  )sql");
}

/// The tables and indices of a database, by name.
std::map<std::string, std::string> objects_of(SQLite::Database& database) {
  std::map<std::string, std::string> objects;
  SQLite::Statement query(database, "SELECT name, coalesce(sql, '') FROM sqlite_schema");
  while (query.executeStep()) {
    objects[query.getColumn(0).getString()] = query.getColumn(1).getString();
  }
  return objects;
}

class SqliteVersion4Test : public SqliteOpenTest {
 protected:
  void SetUp() override {
    SQLite::Database raw = open_raw();
    write_version_4(raw);
  }

  static std::vector<Order> expected_orders() {
    std::vector<Order> orders(4);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const auto id = static_cast<OrderId>(i + 1);
      orders[i] = {.id = id,
                   .user = std::min<std::int64_t>(id, 3),
                   .voucher = 7,
                   .limit = id <= 2 ? 1 : 3,
                   .admitted_at_ms = 10 * id + 1,
                   .entry = {static_cast<std::uint64_t>(10 * id + 2), 0},
                   .created_at_ms = 10 * id + 3};
    }
    orders[1].entry.seq = 1;
    orders[1].created_at_ms = 0;
    orders[2].entry.seq = std::numeric_limits<std::uint64_t>::max();
    return orders;
  }
};

TEST_F(SqliteVersion4Test, OrdersAndVouchersSurvive) {
  options_.read_only = true;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kFailedPrecondition);
  options_.read_only = false;
  const auto store = open();
  EXPECT_TRUE(store->list({}).value() == expected_orders());
  OrderFilter of_user;
  of_user.user = 3;
  EXPECT_EQ(store->list(of_user)->size(), 2U);
  EXPECT_EQ(store->count_live(7).value(), 4);
  EXPECT_EQ(store->state()->identity, "0123456789abcdef");
  EXPECT_EQ(store->state()->epoch, 3);
  EXPECT_EQ(store->state()->checkpoint, 5);
  EXPECT_EQ(store->state()->revision, 5);
  EXPECT_EQ(store->reserve_ids(20'000, 0, 0).value(), 100);
  EXPECT_EQ(store->versions(7)->size(), 3U);
  const Voucher expected{
      .id = 7,
      .title = "Coffee",
      .stock = 10,
      .begin_ms = 1,
      .end_ms = 9,
      .price_cents = 250,
      .limits = {.total = 4, .per_user = 3, .per_user_day = 2, .utc_offset_minutes = 60}};
  EXPECT_TRUE(store->applied(7).value()->voucher == expected);
  EXPECT_TRUE(store->list_payments({})->empty());
  EXPECT_TRUE(store->changes(0, 10, std::nullopt)->empty());
  EXPECT_EQ(store->check_integrity(), absl::OkStatus());
}

TEST_F(SqliteVersion4Test, LimitsAndStockCountOldOrders) {
  const auto store = open();
  std::vector<Order> again = expected_orders();
  std::vector<Order> more = make_orders(5, 3);
  more[0].user = 1;  // has one under limit 1
  more[1].user = 3;  // has two under limit 3
  more[1].limit = 3;
  more[2].user = 3;
  more[2].limit = 3;
  again.insert(again.end(), more.begin(), more.end());
  std::vector<OrderResult::Kind> kinds;
  const std::vector<OrderResult> results = write_now(*store, again).value();
  for (const OrderResult& result : results) kinds.push_back(result.kind);
  using Kind = OrderResult::Kind;
  EXPECT_THAT(kinds, ::testing::ElementsAre(Kind::kAlreadyStored, Kind::kAlreadyStored,
                                            Kind::kAlreadyStored, Kind::kAlreadyStored,
                                            Kind::kRefused, Kind::kStored, Kind::kRefused));
  EXPECT_EQ(store->count_live(7).value(), 5);
}

TEST_F(SqliteVersion4Test, OldOrdersTakeEvents) {
  const auto store = open();
  using EventKind = OrderEvent::Kind;
  const std::vector<OrderEvent> events = {
      {.kind = EventKind::kUsed, .order = {.id = 1}},
      {.kind = EventKind::kRefundBegun, .order = {.id = 1}},
      {.kind = EventKind::kRefundEnded, .order = {.id = 1}},
      {.kind = EventKind::kAdmitted, .order = {.id = 5, .user = 1, .voucher = 7}}};
  const std::vector<OrderResult> results = apply_now(*store, events).value();
  for (const OrderResult& result : results) EXPECT_EQ(result.kind, OrderResult::Kind::kStored);
  EXPECT_EQ(store->count_live(7).value(), 4);
  EXPECT_EQ(store->changes(0, 10, 1)->size(), 3U);
}

TEST_F(SqliteVersion4Test, MigratedSchemaMatchesNewDatabase) {
  open();
  SQLite::Database migrated = open_raw();
  SQLite::Database fresh(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  ASSERT_TRUE(migrate(fresh, migrations()).ok());
  EXPECT_EQ(objects_of(migrated), objects_of(fresh));
  EXPECT_EQ(check_integrity(), "ok");
}

TEST_F(SqliteOpenTest, OrdersOfVersion5KeepEveryColumn) {
  {
    SQLite::Database raw = open_raw();
    ASSERT_TRUE(migrate(raw, migrations().first(5)).ok());
    raw.exec(
        "INSERT INTO orders VALUES (11, 5, 7, 2, 3, 100, 101, 4, 102, 2, 250, 6, 900, 'r', 0)");
    raw.exec(
        "INSERT INTO archived_orders VALUES (9, -5, 8, 6, 0, 100, 101, 4, 0, 1, 1, 1, 9, '', 3)");
  }
  const auto store = open();
  const Order unpaid = {.id = 11,
                        .user = 5,
                        .voucher = 7,
                        .status = OrderStatus::kUnpaid,
                        .limit = 3,
                        .admitted_at_ms = 100,
                        .entry = {101, 4},
                        .created_at_ms = 102,
                        .version = 2,
                        .price_cents = 250,
                        .quantity = 6,
                        .due_at_ms = 900,
                        .reference = "r"};
  EXPECT_EQ(store->list({.user = 5}).value(), std::vector{unpaid});
  const std::vector<Order> archived = store->list_archived({.user = -5}).value();
  ASSERT_EQ(archived.size(), 1U);
  EXPECT_EQ(archived[0].id, 9);
  EXPECT_TRUE(archived[0].keeps_stock && archived[0].keeps_allowance);
  EXPECT_EQ(check_integrity(), "ok");
}

TEST_F(SqliteOpenTest, OrdersOfVersion6HaveNoKey) {
  {
    SQLite::Database raw = open_raw();
    ASSERT_TRUE(migrate(raw, migrations().first(6)).ok());
    raw.exec(
        "INSERT INTO orders VALUES (11, 5, 7, 1, 1, 100, 101, 4, 102, 2, 250, 1, 0, 'r', 0), "
        "(12, 6, 7, 1, 1, 100, 101, 5, 102, 2, 250, 1, 0, '', 0)");
  }
  const auto store = open();
  const std::vector<Order> kept = store->list({.voucher = 7}).value();
  ASSERT_EQ(kept.size(), 2U);
  for (const Order& order : kept) {
    EXPECT_EQ(order.idempotency_key, "");
    EXPECT_EQ(order.key_expires_at_ms, 0);
  }
  EXPECT_EQ(kept[0].reference, "r");
  EXPECT_EQ(check_integrity(), "ok");
}

/// Version 9 compared the keys of each voucher alone.
TEST_F(SqliteOpenTest, SharedKeysOfVersion9StayReadable) {
  {
    SQLite::Database raw = open_raw();
    ASSERT_TRUE(migrate(raw, migrations().first(9)).ok());
    raw.exec(
        "INSERT INTO orders VALUES "
        "(11, 5, 7, 1, 1, 100, 101, 4, 102, 2, 250, 1, 0, '', 0, 'click', 900), "
        "(12, 5, 8, 1, 1, 100, 101, 5, 102, 2, 250, 1, 0, '', 0, 'click', 900)");
  }
  const auto store = open();
  EXPECT_EQ(store->list({.user = 5})->size(), 2U);
  EXPECT_EQ(check_integrity(), "ok");
  std::vector<Order> later = make_orders(20, 1);
  later[0].idempotency_key = "click";
  later[0].admitted_at_ms = 900;
  later[0].key_expires_at_ms = 1'000;
  EXPECT_EQ(write_now(*store, later).value()[0].kind, OrderResult::Kind::kRefused);
}

TEST_F(SqliteOpenTest, OrdersSurviveLaterMigration) {
  EXPECT_TRUE(write_now(*open(), make_orders(1, 10)).ok());
  std::vector<const char*> later(migrations().begin(), migrations().end());
  later.push_back("ALTER TABLE orders ADD COLUMN paid_at_ms INTEGER");
  SQLite::Database raw = open_raw();
  EXPECT_EQ(migrate(raw, later).value(), static_cast<std::int64_t>(migrations().size()));
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM orders WHERE paid_at_ms IS NULL").getInt(), 10);
}

}  // namespace
}  // namespace rushgate
