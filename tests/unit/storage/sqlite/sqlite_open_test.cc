// Tests of opening: creation, migration, refusal.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <latch>
#include <sstream>

#include <SQLiteCpp/Column.h>
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
  EXPECT_THAT(syncs.paths(), testing::IsSupersetOf({dir.parent_path(), dir}));
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
    const TemporaryDirectory directory(TemporaryDirectory::Where::kInMemory);
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
