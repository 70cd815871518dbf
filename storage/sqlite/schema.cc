#include "storage/sqlite/schema.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Savepoint.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include "absl/strings/str_cat.h"

namespace rushgate {
namespace {

// Each order is in exactly one of the first two indices, which together find the orders of a user.
// The user precedes the voucher, so that no third index is needed: an index in random order is
// expensive (docs/format.md has figures).
constexpr char kFirstSchema[] = R"sql(
CREATE TABLE orders (
  id             INTEGER PRIMARY KEY,
  user_id        INTEGER NOT NULL,
  voucher_id     INTEGER NOT NULL,
  status         INTEGER NOT NULL,  -- 1 created
  user_limit     INTEGER NOT NULL,  -- orders per user when it was admitted; 0: any number
  admitted_at_ms INTEGER NOT NULL,  -- since 1970 UTC
  entry_ms       INTEGER NOT NULL,  -- id of its entry in the order stream
  entry_seq      INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX orders_once ON orders (user_id, voucher_id)
  WHERE status = 1 AND user_limit = 1;

CREATE INDEX orders_other ON orders (user_id, voucher_id, status, user_limit)
  WHERE NOT (status = 1 AND user_limit = 1);

CREATE INDEX orders_by_voucher ON orders (voucher_id);

CREATE TABLE voucher_versions (
  voucher_id         INTEGER NOT NULL,
  version            INTEGER NOT NULL,  -- 1, 2, 3, ...
  state              INTEGER NOT NULL,  -- 0 pending, 1 applied, 2 refused
  reason             TEXT    NOT NULL,  -- why it was refused
  title              TEXT    NOT NULL,
  stock              INTEGER NOT NULL,  -- published in all, sold ones included
  begin_ms           INTEGER NOT NULL,  -- since 1970 UTC
  end_ms             INTEGER NOT NULL,
  price_cents        INTEGER NOT NULL,
  limit_total        INTEGER NOT NULL,  -- limits: 0 for none
  limit_per_user     INTEGER NOT NULL,
  limit_per_user_day INTEGER NOT NULL,
  utc_offset_minutes INTEGER NOT NULL,
  PRIMARY KEY (voucher_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX voucher_versions_pending ON voucher_versions (voucher_id, version) WHERE state = 0;
)sql";

constexpr char kCreatedAt[] = R"sql(
-- When the row was written, since 1970 UTC; 0 in rows that were there before.
ALTER TABLE orders ADD COLUMN created_at_ms INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kKeyspace[] = R"sql(
-- How the database stands to its keyspace: one row.
CREATE TABLE database_state (
  only       INTEGER PRIMARY KEY CHECK (only = 1),
  identity   TEXT    NOT NULL,  -- of this database: 16 hex digits
  epoch      INTEGER NOT NULL,  -- a batch that was read in another one is refused
  checkpoint INTEGER NOT NULL   -- the keyspace has at least this one, or it lost writes
) STRICT;
INSERT INTO database_state VALUES (1, lower(hex(randomblob(8))), 1,
  EXISTS (SELECT 1 FROM voucher_versions));  -- a sale that is older than checkpoints is checked once

-- How many orders of a voucher have status 1.
CREATE TABLE live_orders (
  voucher_id INTEGER PRIMARY KEY,
  live       INTEGER NOT NULL
) STRICT;
INSERT INTO live_orders SELECT voucher_id, count(*) FROM orders WHERE status = 1 GROUP BY voucher_id;
)sql";

constexpr char kReservedIds[] = R"sql(
-- Up to which counter order ids may have been drawn. Only today's and tomorrow's rows matter.
CREATE TABLE reserved_ids (
  day      INTEGER PRIMARY KEY,  -- since 1970 UTC
  reserved INTEGER NOT NULL
) STRICT;
)sql";

constexpr const char* kMigrations[] = {kFirstSchema, kCreatedAt, kKeyspace, kReservedIds};

std::int64_t read_integer(SQLite::Database& database, const char* sql) {
  return database.execAndGet(sql).getInt64();
}

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }

absl::StatusOr<std::int64_t> read_version(SQLite::Database& database, std::int64_t newest) {
  // In one snapshot, because another process may create the database meanwhile.
  SQLite::Savepoint snapshot(database, "read_version");
  const std::int64_t application = read_integer(database, "PRAGMA application_id");
  const std::int64_t version = read_integer(database, "PRAGMA user_version");
  const bool empty = application == 0 && version == 0 &&
                     read_integer(database, "SELECT count(*) FROM sqlite_schema") == 0;
  snapshot.release();
  if (empty) return 0;
  if (application != kApplicationId || version <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        database.getFilename(), " is no order database of Rushgate, but somebody else's ",
        "(application id 0x", absl::Hex(application, absl::kZeroPad8), ", version ", version,
        "): it is left alone"));
  }
  if (version > newest) {
    return absl::UnimplementedError(
        absl::StrCat(database.getFilename(), " has version ", version,
                     ", written by a newer Rushgate; this one knows versions up to ", newest));
  }
  return version;
}

absl::StatusOr<std::int64_t> migrate(SQLite::Database& database,
                                     std::span<const char* const> migrations) {
  const auto newest = static_cast<std::int64_t>(migrations.size());
  // Also checked before the lock, so that opening a current database never waits.
  absl::StatusOr<std::int64_t> version = read_version(database, newest);
  if (!version.ok() || *version == newest) return version;

  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  version = read_version(database, newest);
  if (!version.ok()) return version;
  for (std::int64_t number = *version; number < newest; ++number) {
    database.exec(migrations[static_cast<std::size_t>(number)]);
  }
  database.exec(absl::StrCat("PRAGMA application_id = ", kApplicationId));
  database.exec(absl::StrCat("PRAGMA user_version = ", newest));
  transaction.commit();
  return version;
}

}  // namespace rushgate
