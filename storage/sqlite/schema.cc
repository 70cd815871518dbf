#include "storage/sqlite/schema.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Savepoint.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include "absl/strings/str_cat.h"
#include "engine/core/base/concat.h"

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

// Statuses: 1 created, 2 unpaid, 3 paid, 4 used, 5 refunding, 6 cancelled, 7 refunded; up to 5 an
// order is live.
constexpr char kPayments[] = R"sql(
ALTER TABLE orders ADD COLUMN voucher_version INTEGER NOT NULL DEFAULT 0;  -- 0 unknown
ALTER TABLE orders ADD COLUMN price_cents     INTEGER NOT NULL DEFAULT 0;  -- of one piece
ALTER TABLE orders ADD COLUMN quantity        INTEGER NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN due_at_ms       INTEGER NOT NULL DEFAULT 0;  -- 0 demands no payment
ALTER TABLE orders ADD COLUMN reference       TEXT    NOT NULL DEFAULT '';
-- Kept by an order after its end: 1 the stock, 2 its user's allowance, 3 both.
ALTER TABLE orders ADD COLUMN keeps           INTEGER NOT NULL DEFAULT 0;
-- live_orders.live now counts the pieces of live orders and of ended ones that keep the stock.

ALTER TABLE voucher_versions ADD COLUMN payment_ms        INTEGER NOT NULL DEFAULT 0;
ALTER TABLE voucher_versions ADD COLUMN restock           INTEGER NOT NULL DEFAULT 1;
ALTER TABLE voucher_versions ADD COLUMN restore_allowance INTEGER NOT NULL DEFAULT 1;
ALTER TABLE voucher_versions ADD COLUMN waiting_max       INTEGER NOT NULL DEFAULT 0;

DROP INDEX orders_once;
DROP INDEX orders_other;
CREATE UNIQUE INDEX orders_once ON orders (user_id, voucher_id)
  WHERE status <= 5 AND user_limit = 1;
CREATE INDEX orders_other ON orders (user_id, voucher_id, status, user_limit, quantity)
  WHERE NOT (status <= 5 AND user_limit = 1);
-- The states that end by themselves.
CREATE INDEX orders_unpaid ON orders (voucher_id) WHERE status = 2;
CREATE INDEX orders_refunding ON orders (voucher_id) WHERE status = 5;

CREATE TABLE payments (
  id             TEXT    NOT NULL PRIMARY KEY,  -- the payment provider's
  order_id       INTEGER NOT NULL,
  amount_cents   INTEGER NOT NULL,
  state          INTEGER NOT NULL,  -- 1 kept, 2 due, 3 refunded
  received_at_ms INTEGER NOT NULL,  -- since 1970 UTC
  refunded_at_ms INTEGER NOT NULL,  -- 0 not refunded
  reason         TEXT    NOT NULL   -- why it is due
) STRICT, WITHOUT ROWID;
CREATE INDEX payments_by_order ON payments (order_id);
CREATE INDEX payments_due ON payments (id) WHERE state = 2;

CREATE TABLE order_changes (
  position    INTEGER PRIMARY KEY AUTOINCREMENT,
  order_id    INTEGER NOT NULL,
  from_status INTEGER NOT NULL,
  to_status   INTEGER NOT NULL,
  at_ms       INTEGER NOT NULL,  -- since 1970 UTC
  reason      TEXT    NOT NULL,
  actor       TEXT    NOT NULL
) STRICT;
CREATE INDEX order_changes_by_order ON order_changes (order_id);

-- Ended sales: the rows of the tables above, moved.
CREATE TABLE archived_vouchers (
  voucher_id     INTEGER PRIMARY KEY,
  archived_at_ms INTEGER NOT NULL,  -- since 1970 UTC
  deleted        INTEGER NOT NULL   -- 1: its orders were deleted
) STRICT;
CREATE TABLE archived_versions (
  voucher_id INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  title      TEXT    NOT NULL,
  stock              INTEGER NOT NULL,
  begin_ms           INTEGER NOT NULL,
  end_ms             INTEGER NOT NULL,
  price_cents        INTEGER NOT NULL,
  limit_total        INTEGER NOT NULL,
  limit_per_user     INTEGER NOT NULL,
  limit_per_user_day INTEGER NOT NULL,
  utc_offset_minutes INTEGER NOT NULL,
  payment_ms         INTEGER NOT NULL,
  restock            INTEGER NOT NULL,
  restore_allowance  INTEGER NOT NULL,
  waiting_max        INTEGER NOT NULL,
  PRIMARY KEY (voucher_id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE archived_orders (
  id              INTEGER PRIMARY KEY,
  user_id         INTEGER NOT NULL,
  voucher_id      INTEGER NOT NULL,
  status          INTEGER NOT NULL,
  user_limit      INTEGER NOT NULL,
  admitted_at_ms  INTEGER NOT NULL,
  entry_ms        INTEGER NOT NULL,
  entry_seq       INTEGER NOT NULL,
  created_at_ms   INTEGER NOT NULL,
  voucher_version INTEGER NOT NULL,
  price_cents     INTEGER NOT NULL,
  quantity        INTEGER NOT NULL,
  due_at_ms       INTEGER NOT NULL,
  reference       TEXT    NOT NULL,
  keeps           INTEGER NOT NULL
) STRICT;
CREATE INDEX archived_orders_by_voucher ON archived_orders (voucher_id);
CREATE TABLE archived_payments (
  id             TEXT    NOT NULL PRIMARY KEY,
  order_id       INTEGER NOT NULL,
  amount_cents   INTEGER NOT NULL,
  state          INTEGER NOT NULL,
  received_at_ms INTEGER NOT NULL,
  refunded_at_ms INTEGER NOT NULL,
  reason         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX archived_payments_by_order ON archived_payments (order_id);
CREATE TABLE archived_changes (
  position    INTEGER PRIMARY KEY,
  order_id    INTEGER NOT NULL,
  from_status INTEGER NOT NULL,
  to_status   INTEGER NOT NULL,
  at_ms       INTEGER NOT NULL,
  reason      TEXT    NOT NULL,
  actor       TEXT    NOT NULL
) STRICT;
CREATE INDEX archived_changes_by_order ON archived_changes (order_id);
)sql";

// A user id may be a name. In a STRICT table, a column of the type ANY keeps integers and strings as
// they are. SQLite cannot change the type of a column, so the rows move to new tables.
constexpr char kUserNames[] = R"sql(
CREATE TABLE orders_with_names (
  id              INTEGER PRIMARY KEY,
  user_id         ANY     NOT NULL,  -- an integer, or a name
  voucher_id      INTEGER NOT NULL,
  status          INTEGER NOT NULL,
  user_limit      INTEGER NOT NULL,  -- pieces per user when it was admitted; 0: any number
  admitted_at_ms  INTEGER NOT NULL,  -- since 1970 UTC
  entry_ms        INTEGER NOT NULL,  -- id of its entry in the order stream
  entry_seq       INTEGER NOT NULL,
  created_at_ms   INTEGER NOT NULL DEFAULT 0,  -- when the row was written; 0 not known
  voucher_version INTEGER NOT NULL DEFAULT 0,  -- 0 unknown
  price_cents     INTEGER NOT NULL DEFAULT 0,  -- of one piece
  quantity        INTEGER NOT NULL DEFAULT 1,
  due_at_ms       INTEGER NOT NULL DEFAULT 0,  -- 0 demands no payment
  reference       TEXT    NOT NULL DEFAULT '',
  keeps           INTEGER NOT NULL DEFAULT 0   -- after its end: 1 the stock, 2 its user's allowance, 3 both
) STRICT;
INSERT INTO orders_with_names
  SELECT id, user_id, voucher_id, status, user_limit, admitted_at_ms, entry_ms, entry_seq,
         created_at_ms, voucher_version, price_cents, quantity, due_at_ms, reference, keeps
  FROM orders;
DROP TABLE orders;
ALTER TABLE orders_with_names RENAME TO orders;

CREATE UNIQUE INDEX orders_once ON orders (user_id, voucher_id)
  WHERE status <= 5 AND user_limit = 1;
CREATE INDEX orders_other ON orders (user_id, voucher_id, status, user_limit, quantity)
  WHERE NOT (status <= 5 AND user_limit = 1);
CREATE INDEX orders_by_voucher ON orders (voucher_id);
CREATE INDEX orders_unpaid ON orders (voucher_id) WHERE status = 2;
CREATE INDEX orders_refunding ON orders (voucher_id) WHERE status = 5;

CREATE TABLE archived_orders_with_names (
  id              INTEGER PRIMARY KEY,
  user_id         ANY     NOT NULL,
  voucher_id      INTEGER NOT NULL,
  status          INTEGER NOT NULL,
  user_limit      INTEGER NOT NULL,
  admitted_at_ms  INTEGER NOT NULL,
  entry_ms        INTEGER NOT NULL,
  entry_seq       INTEGER NOT NULL,
  created_at_ms   INTEGER NOT NULL,
  voucher_version INTEGER NOT NULL,
  price_cents     INTEGER NOT NULL,
  quantity        INTEGER NOT NULL,
  due_at_ms       INTEGER NOT NULL,
  reference       TEXT    NOT NULL,
  keeps           INTEGER NOT NULL
) STRICT;
INSERT INTO archived_orders_with_names
  SELECT id, user_id, voucher_id, status, user_limit, admitted_at_ms, entry_ms, entry_seq,
         created_at_ms, voucher_version, price_cents, quantity, due_at_ms, reference, keeps
  FROM archived_orders;
DROP TABLE archived_orders;
ALTER TABLE archived_orders_with_names RENAME TO archived_orders;
CREATE INDEX archived_orders_by_voucher ON archived_orders (voucher_id);
)sql";

// The index finds no row of an order without a key, so such an order costs no more than before.
constexpr char kIdempotencyKeys[] = R"sql(
-- Of the request that bought the order; '' none.
ALTER TABLE orders ADD COLUMN idempotency_key   TEXT    NOT NULL DEFAULT '';
-- The last millisecond in which the key is this order's; 0 without one.
ALTER TABLE orders ADD COLUMN key_expires_at_ms INTEGER NOT NULL DEFAULT 0;
CREATE INDEX orders_by_key ON orders (voucher_id, idempotency_key) WHERE idempotency_key <> '';

ALTER TABLE archived_orders ADD COLUMN idempotency_key   TEXT    NOT NULL DEFAULT '';
ALTER TABLE archived_orders ADD COLUMN key_expires_at_ms INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kPaymentTotals[] = R"sql(
-- The payments in both tables, counted when they are stored and when they are deleted: one row. So a
-- lost row is noticed. Of each amount the last nine digits are summed, so that no sum overflows.
CREATE TABLE payment_totals (
  only     INTEGER PRIMARY KEY CHECK (only = 1),
  payments INTEGER NOT NULL,
  cents    INTEGER NOT NULL
) STRICT;
INSERT INTO payment_totals SELECT 1, count(*), coalesce(sum(amount_cents % 1000000000), 0)
  FROM (SELECT amount_cents FROM payments UNION ALL SELECT amount_cents FROM archived_payments);
)sql";

// Later keys expire later, so that a new row comes at the end of the index.
constexpr char kKeyEnds[] = R"sql(
-- The orders whose key has not expired, for a keyspace that lost the keys.
CREATE INDEX orders_by_key_end ON orders (key_expires_at_ms) WHERE idempotency_key <> '';
CREATE INDEX archived_orders_by_key_end ON archived_orders (key_expires_at_ms)
  WHERE idempotency_key <> '';
)sql";

// A key belongs to one order of the sale, whatever its voucher. The end of the key is in the index,
// because a key may be used again: only the orders whose it still is are read.
constexpr char kKeysOfTheSale[] = R"sql(
DROP INDEX orders_by_key;
CREATE INDEX orders_by_key ON orders (idempotency_key, key_expires_at_ms)
  WHERE idempotency_key <> '';
CREATE INDEX archived_orders_by_key ON archived_orders (idempotency_key, key_expires_at_ms)
  WHERE idempotency_key <> '';
)sql";

constexpr char kPurchaseTokens[] = R"sql(
-- 1: a purchase of the voucher needs a purchase token.
ALTER TABLE voucher_versions  ADD COLUMN needs_token INTEGER NOT NULL DEFAULT 0;
ALTER TABLE archived_versions ADD COLUMN needs_token INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr char kRevision[] = R"sql(
-- Raised by each batch of orders that is recorded. A restored copy has a smaller one.
ALTER TABLE database_state ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE database_state SET revision = checkpoint;
)sql";

constexpr char kLanes[] = R"sql(
-- The lanes of a sale above lane 0, which has the row of database_state.
CREATE TABLE lane_states (
  lane       INTEGER PRIMARY KEY,  -- 1, 2, 3, ...
  epoch      INTEGER NOT NULL,
  checkpoint INTEGER NOT NULL,
  revision   INTEGER NOT NULL
) STRICT;
-- As reserved_ids, which are those of lane 0.
CREATE TABLE lane_reserved_ids (
  lane     INTEGER NOT NULL,
  day      INTEGER NOT NULL,
  reserved INTEGER NOT NULL,
  PRIMARY KEY (lane, day)
) STRICT, WITHOUT ROWID;
-- Which lane a voucher lives on. One that has no row is on lane 0.
CREATE TABLE voucher_lanes (
  voucher_id INTEGER PRIMARY KEY,
  lane       INTEGER NOT NULL
) STRICT;
)sql";

constexpr char kSplitVouchers[] = R"sql(
-- On how many lanes the voucher is sold.
ALTER TABLE voucher_versions  ADD COLUMN lanes INTEGER NOT NULL DEFAULT 1;
ALTER TABLE archived_versions ADD COLUMN lanes INTEGER NOT NULL DEFAULT 1;
-- Pieces of such a voucher that were moved from one of its lanes to another, in all.
CREATE TABLE moved_pieces (
  voucher_id INTEGER NOT NULL,
  from_lane  INTEGER NOT NULL,
  to_lane    INTEGER NOT NULL,
  pieces     INTEGER NOT NULL,
  PRIMARY KEY (voucher_id, from_lane, to_lane)
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* kMigrations[] = {
    kFirstSchema,    kCreatedAt,       kKeyspace,      kReservedIds,  kPayments,
    kUserNames,      kIdempotencyKeys, kPaymentTotals, kKeyEnds,      kKeysOfTheSale,
    kPurchaseTokens, kRevision,        kLanes,         kSplitVouchers};

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
    return absl::FailedPreconditionError(
        concat(database.getFilename(), " is no order database of Rushgate, but somebody else's ",
               "(application id 0x", absl::StrCat(absl::Hex(application, absl::kZeroPad8)),
               ", version ", version, "): it is left alone"));
  }
  if (version > newest) {
    return absl::UnimplementedError(
        concat(database.getFilename(), " has version ", version,
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
  database.exec(concat("PRAGMA application_id = ", kApplicationId));
  database.exec(concat("PRAGMA user_version = ", newest));
  transaction.commit();
  return version;
}

}  // namespace rushgate
