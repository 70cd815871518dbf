// A database file is moved while it is open, or its bytes are changed.
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <gmock/gmock.h>

#include "tests/support/random.h"
#include "tests/unit/storage/sqlite/sqlite_fixture.h"
#include <rushgate/random_seed.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SqliteIntegrityTest : public SqliteTest {
 protected:
  void expect_names_missing_file(const absl::Status& status) const {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file().string() + " was deleted"));
  }

  [[nodiscard]] fs::path elsewhere() const { return database_.directory() / "elsewhere.db"; }
};

TEST_F(SqliteIntegrityTest, DeletedFileTakesNoOrders) {
  const auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  fs::remove(file());
  expect_names_missing_file(write_now(*store, make_orders(11, 10)).status());
  expect_names_missing_file(store->fence().status());
  expect_names_missing_file(store->check_integrity());
}

TEST_F(SqliteIntegrityTest, ReplacedFileTakesNoOrders) {
  const auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  fs::copy_file(file(), elsewhere());
  fs::rename(elsewhere(), file());
  expect_names_missing_file(write_now(*store, make_orders(11, 10)).status());
  expect_names_missing_file(store->check_integrity());
}

TEST_F(SqliteIntegrityTest, DeletedLogTakesNoOrders) {
  auto store = open();
  const std::string log = file().string() + "-wal";
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  ASSERT_TRUE(fs::remove(log));
  const absl::Status written = write_now(*store, make_orders(11, 10)).status();
  EXPECT_EQ(written.code(), absl::StatusCode::kDataLoss) << written;
  EXPECT_THAT(std::string(written.message()), HasSubstr(log + " was deleted"));
  EXPECT_EQ(store->check_integrity().code(), absl::StatusCode::kDataLoss);
  store.reset();  // copies the log, which is still open, into the database
  store = open();
  EXPECT_EQ(store->list({})->size(), 10U);
  EXPECT_EQ(store->check_integrity(), absl::OkStatus());
}

TEST_F(SqliteIntegrityTest, LogDeletedBeforeFirstOrderIsDetected) {
  const auto store = open();
  ASSERT_TRUE(fs::remove(file().string() + "-wal"));
  EXPECT_EQ(store->fence().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteIntegrityTest, RestoredFileTakesOrders) {
  const auto store = open();
  ASSERT_TRUE(write_now(*store, make_orders(1, 10)).ok());
  fs::rename(file(), elsewhere());
  expect_names_missing_file(write_now(*store, make_orders(11, 10)).status());
  fs::rename(elsewhere(), file());
  EXPECT_TRUE(write_now(*store, make_orders(11, 10)).ok());
  EXPECT_EQ(store->check_integrity(), absl::OkStatus());
  EXPECT_EQ(store->list({})->size(), 20U);
}

TEST_F(SqliteIntegrityTest, RowsThatStayAreNotArchived) {
  const auto store = open();
  ASSERT_TRUE(store->record_pending(first_version()).ok());
  ASSERT_TRUE(store->resolve(kVoucher, 1, VoucherVersion::State::kApplied, "").ok());
  ASSERT_TRUE(write_now(*store, make_orders(1, 3)).ok());
  ASSERT_TRUE(store->archive_voucher(kVoucher, kNeverEndsMs + 1).ok());
  open_raw().exec(
      "CREATE TRIGGER keeps BEFORE DELETE ON orders BEGIN SELECT RAISE(IGNORE) WHERE old.id = 2; "
      "END");

  const absl::Status moved = store->archive_orders(kVoucher, 10).status();

  EXPECT_EQ(moved.code(), absl::StatusCode::kDataLoss) << moved;
  EXPECT_THAT(std::string(moved.message()),
              HasSubstr(file().string() + " is damaged: of voucher 7, 3 rows were copied"));
  EXPECT_EQ(store->list({})->size(), 3U);
  EXPECT_TRUE(store->list_archived({})->empty());
}

// ---- Flipped bits -----------------------------------------------------------------------------

/// The bytes of a page that are in use: its header and its cells. There may be free bytes between
/// cells. (https://www.sqlite.org/fileformat.html#b_tree_pages)
using Bytes = std::pair<std::int64_t, std::int64_t>;  // begin, end

class SqliteFlippedBitsTest : public SqliteIntegrityTest {
 protected:
  void SetUp() override {
    rushgate::testing::Random random(seed_);
    std::vector<Order> orders = make_orders(1, 5'000);
    for (Order& order : orders) {
      order.user = random.between(1, std::int64_t{1} << 40);
      order.limit = 1 + order.id % 2;  // in one of the two indices of users
    }
    ASSERT_TRUE(write_now(*open(), orders).ok());
    page_bytes_ = open_raw().execAndGet("PRAGMA page_size").getInt64();
    index_bytes_ = find_index_bytes();
  }

  std::vector<Bytes> find_index_bytes() const {
    std::vector<Bytes> found;
    SQLite::Database raw = open_raw();
    SQLite::Statement pages(
        raw,
        "SELECT pageno FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE type = "
        "'index' AND tbl_name = 'orders')");
    while (pages.executeStep()) {
      const std::int64_t begin = (pages.getColumn(0).getInt64() - 1) * page_bytes_;
      const auto number_at = [&](std::int64_t at) { return byte(at) * 256 + byte(at + 1); };
      const bool is_inner = byte(begin) == 2;
      const std::int64_t cells = number_at(begin + 3);
      const std::int64_t header_end = begin + (is_inner ? 12 : 8);
      found.emplace_back(begin, header_end + 2 * cells);
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        const std::int64_t at = begin + number_at(header_end + 2 * cell);
        const std::int64_t size_at = at + (is_inner ? 4 : 0);  // after the page number of the child
        found.emplace_back(at, size_at + 1 + byte(size_at));
      }
    }
    return found;
  }

  [[nodiscard]] std::int64_t byte(std::int64_t at) const {
    std::ifstream in(file(), std::ios::binary);
    in.seekg(at);
    return in.get();
  }

  void flip(std::int64_t at, unsigned bit) const {
    const auto flipped = static_cast<char>(static_cast<unsigned>(byte(at)) ^ (1U << bit));
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(at);
    out.put(flipped);
  }

  const std::uint64_t seed_ = random_seed();
  std::int64_t page_bytes_ = 0;
  std::vector<Bytes> index_bytes_;
};

TEST_F(SqliteFlippedBitsTest, EveryFlippedIndexBitIsFound) {
  constexpr int kFlips = 200;
  ASSERT_GT(index_bytes_.size(), 100U);
  SCOPED_TRACE(seed_text(seed_));
  rushgate::testing::Random random(seed_);
  for (int i = 0; i < kFlips; ++i) {
    const auto [begin, end] = random.pick(index_bytes_);
    const std::int64_t at = random.between(begin, end - 1);
    const auto bit = static_cast<unsigned>(random.below(8));
    flip(at, bit);
    const absl::Status checked = open()->check_integrity();
    EXPECT_EQ(checked.code(), absl::StatusCode::kDataLoss)
        << "byte " << at << ", bit " << bit << ": " << checked;
    EXPECT_THAT(std::string(checked.message()), HasSubstr(file().string()));
    flip(at, bit);
  }
  EXPECT_EQ(open()->check_integrity(), absl::OkStatus());
}

}  // namespace
}  // namespace rushgate
