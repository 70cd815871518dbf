// Readers of a database that another process or store has open.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <SQLiteCpp/Statement.h>

#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using SqliteReadOnlyTest = SqliteTest;

TEST_F(SqliteReadOnlyTest, ReaderSeesCommitsOfWriter) {
  const auto writer = open();
  const auto reader = open_read_only();
  for (OrderId id = 1; id <= 5; ++id) {
    EXPECT_TRUE(write_now(*writer, make_orders(id, 1)).ok());
    EXPECT_EQ(reader->list({})->size(), static_cast<std::size_t>(id));
  }
}

TEST_F(SqliteReadOnlyTest, ReaderDoesNotSeeUnfinishedBatch) {
  const auto writer = open();
  SQLite::Database raw = open_raw();
  raw.exec(
      "BEGIN IMMEDIATE; INSERT INTO orders (id, user_id, voucher_id, status, user_limit, "
      "admitted_at_ms, entry_ms, entry_seq) VALUES (1, 1, 7, 1, 1, 1, 1, 1)");
  EXPECT_TRUE(open_read_only()->list({})->empty());
  raw.exec("COMMIT");
  EXPECT_EQ(open_read_only()->list({})->size(), 1U);
}

TEST_F(SqliteReadOnlyTest, ReaderWritesNothing) {
  open();
  const auto reader = open_read_only();
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(write_now(*reader, make_orders(1, 1)).status().code(), kRefused);
  EXPECT_EQ(reader->apply({}, {.epoch = 1}).status().code(), kRefused);
  EXPECT_EQ(reader->record_pending(first_version()).code(), kRefused);
  EXPECT_EQ(reader->resolve(1, 1, VoucherVersion::State::kApplied, "").code(), kRefused);
  EXPECT_TRUE(reader->list({})->empty());
}

TEST_F(SqliteReadOnlyTest, ReaderSeesPaymentsAndChanges) {
  const auto writer = open();
  const auto reader = open_read_only();
  ASSERT_TRUE(apply_now(*writer, make_paid_orders(1, 3)).ok());
  EXPECT_EQ(reader->find_payment("p2").value()->order, 2);
  EXPECT_EQ(reader->list_payments({})->size(), 3U);
  EXPECT_EQ(reader->changes(0, 10, 2)->size(), 1U);
}

TEST_F(SqliteReadOnlyTest, ReaderCreatesNoDatabase) {
  options_.read_only = true;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(database_.directory()));
}

TEST_F(SqliteReadOnlyTest, ReaderMigratesNothing) {
  open_raw().exec("VACUUM");  // creates an empty database
  options_.read_only = true;
  EXPECT_EQ(try_open().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteReadOnlyTest, ReaderOpensClosedDatabase) {
  EXPECT_TRUE(write_now(*open(), make_orders(1, 3)).ok());
  EXPECT_EQ(open_read_only()->list({})->size(), 3U);
}

/// Runs `child` in another process and returns its exit code.
template <class Child>
int run_in_process(Child child) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SqliteReadOnlyTest, ReaderSeesCommitsOfAnotherProcess) {
  // Neither process may have opened the database before the fork.
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    const auto store = open();
    char go = 0;
    for (OrderId id = 1; read(to_child[0], &go, 1) == 1 && go == 'w'; ++id) {
      const bool ok = write_now(*store, make_orders(id, 1)).ok();
      if (::write(to_parent[1], ok ? "y" : "n", 1) != 1) break;
    }
    _exit(0);
  }
  const auto commit_one = [&] {
    char done = 0;
    return ::write(to_child[1], "w", 1) == 1 && ::read(to_parent[0], &done, 1) == 1 && done == 'y';
  };
  ASSERT_TRUE(commit_one());
  const auto reader = open_read_only();
  for (std::size_t count = 1; count <= 5; ++count) {
    EXPECT_EQ(reader->list({})->size(), count);
    ASSERT_TRUE(commit_one());
  }
  kill(writer, SIGKILL);  // this reader and later ones continue
  waitpid(writer, nullptr, 0);
  EXPECT_EQ(reader->list({})->size(), 6U);
  EXPECT_EQ(run_in_process([&] { return open_read_only()->list({})->size() == 6 ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace rushgate
