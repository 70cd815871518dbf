// Of SQLite's codes, only a constraint counts against an order.
#include "storage/sqlite/sqlite_status.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <rushgate/order_store.h>

namespace rushgate {
namespace {

using Code = absl::StatusCode;

struct CodeCase {
  int sqlite;
  Code code;
};

constexpr CodeCase kCodes[] = {
    {SQLITE_CONSTRAINT, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_CHECK, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_DATATYPE, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_NOTNULL, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_PRIMARYKEY, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_ROWID, Code::kInvalidArgument},
    {SQLITE_CONSTRAINT_UNIQUE, Code::kInvalidArgument},

    {SQLITE_BUSY, Code::kUnavailable},
    {SQLITE_BUSY_RECOVERY, Code::kUnavailable},
    {SQLITE_BUSY_SNAPSHOT, Code::kUnavailable},
    {SQLITE_LOCKED, Code::kUnavailable},
    {SQLITE_LOCKED_SHAREDCACHE, Code::kUnavailable},
    {SQLITE_PROTOCOL, Code::kUnavailable},
    {SQLITE_SCHEMA, Code::kUnavailable},
    {SQLITE_INTERRUPT, Code::kUnavailable},
    {SQLITE_ABORT, Code::kUnavailable},
    {SQLITE_ABORT_ROLLBACK, Code::kUnavailable},
    {SQLITE_FULL, Code::kUnavailable},
    {SQLITE_IOERR, Code::kUnavailable},
    {SQLITE_IOERR_WRITE, Code::kUnavailable},
    {SQLITE_IOERR_FSYNC, Code::kUnavailable},
    {SQLITE_IOERR_CORRUPTFS, Code::kUnavailable},
    {SQLITE_CANTOPEN, Code::kUnavailable},
    {SQLITE_CANTOPEN_ISDIR, Code::kUnavailable},
    {SQLITE_READONLY, Code::kUnavailable},
    {SQLITE_READONLY_DBMOVED, Code::kUnavailable},
    {SQLITE_PERM, Code::kUnavailable},
    {SQLITE_NOLFS, Code::kUnavailable},
    {SQLITE_NOMEM, Code::kUnavailable},

    {SQLITE_CORRUPT, Code::kDataLoss},
    {SQLITE_CORRUPT_INDEX, Code::kDataLoss},
    {SQLITE_NOTADB, Code::kDataLoss},

    {SQLITE_ERROR, Code::kInternal},
    {SQLITE_INTERNAL, Code::kInternal},
    {SQLITE_MISUSE, Code::kInternal},
    {SQLITE_NOTFOUND, Code::kInternal},
    {SQLITE_EMPTY, Code::kInternal},
    {SQLITE_TOOBIG, Code::kInternal},
    {SQLITE_MISMATCH, Code::kInternal},
    {SQLITE_AUTH, Code::kInternal},
    {SQLITE_FORMAT, Code::kInternal},
    {SQLITE_RANGE, Code::kInternal},
    {-1, Code::kInternal},  // SQLiteCpp's own code
};

absl::Status status_of(int sqlite_code) {
  return to_absl(SQLite::Exception("text", sqlite_code), "writing", "/somewhere/orders.db");
}

TEST(SqliteStatusTest, EachSqliteCodeHasStatusCode) {
  for (const auto& [sqlite, code] : kCodes) {
    EXPECT_EQ(status_of(sqlite).code(), code) << sqlite3_errstr(sqlite) << ' ' << sqlite;
  }
}

TEST(SqliteStatusTest, OnlyConstraintBlamesOrder) {
  constexpr int kCodesMax = 256;  // primary codes have one byte
  for (int code = 1; code < kCodesMax; ++code) {
    EXPECT_EQ(is_fault_of_an_order(status_of(code)), code == SQLITE_CONSTRAINT) << code;
  }
}

TEST(SqliteStatusTest, ErrorNamesFileAndSqlitesMessage) {
  EXPECT_EQ(status_of(SQLITE_FULL).message(),
            "writing /somewhere/orders.db: text (SQLite's code 13)");
}

}  // namespace
}  // namespace rushgate
