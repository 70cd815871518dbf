#include "storage/postgresql/postgresql_schema.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "engine/core/base/concat.h"
#include <rushgate/order_status.h>

namespace rushgate {
namespace {

// Texts are bytes: a reference, a key or a title may have any. The view orders_readable shows them as
// text.
constexpr char kDatabaseState[] = R"sql(
CREATE TABLE database_state (
  only_row    SMALLINT PRIMARY KEY CHECK (only_row = 1),
  version     BIGINT NOT NULL,  -- of these tables
  identity    BYTEA  NOT NULL,  -- of this database: 16 hex digits
  epoch       BIGINT NOT NULL,  -- a batch that was read in another one is refused
  checkpoint  BIGINT NOT NULL,  -- the keyspace has at least this one, or it lost writes
  revision    BIGINT NOT NULL,  -- raised by each batch; a database that lost one has a smaller one
  last_change BIGINT NOT NULL   -- the greatest position in order_changes that was ever given
) WITH (fillfactor = 20)
)sql";

constexpr char kReservedIds[] = R"sql(
CREATE TABLE reserved_ids (
  day      BIGINT PRIMARY KEY,  -- since 1970 UTC
  reserved BIGINT NOT NULL
)
)sql";

constexpr char kLaneStates[] = R"sql(
CREATE TABLE lane_states (
  lane       BIGINT PRIMARY KEY,  -- 1, 2, 3, ...; the lane 0 has the row of database_state
  epoch      BIGINT NOT NULL,
  checkpoint BIGINT NOT NULL,
  revision   BIGINT NOT NULL
) WITH (fillfactor = 20)
)sql";

constexpr char kLaneReservedIds[] = R"sql(
CREATE TABLE lane_reserved_ids (
  lane     BIGINT NOT NULL,  -- reserved_ids has those of the lane 0
  day      BIGINT NOT NULL,  -- since 1970 UTC
  reserved BIGINT NOT NULL,
  PRIMARY KEY (lane, day)
)
)sql";

constexpr char kVoucherLanes[] = R"sql(
CREATE TABLE voucher_lanes (
  voucher_id BIGINT PRIMARY KEY,
  lane       BIGINT NOT NULL  -- on which it lives; a voucher that has no row is on the lane 0
)
)sql";

constexpr char kMovedPieces[] = R"sql(
CREATE TABLE moved_pieces (
  voucher_id BIGINT NOT NULL,  -- one that is on several lanes
  from_lane  BIGINT NOT NULL,
  to_lane    BIGINT NOT NULL,
  pieces     BIGINT NOT NULL,  -- moved between these lanes in all
  PRIMARY KEY (voucher_id, from_lane, to_lane)
)
)sql";

constexpr char kLiveOrders[] = R"sql(
CREATE TABLE live_orders (
  voucher_id BIGINT PRIMARY KEY,
  live       BIGINT NOT NULL  -- pieces of live orders, and of ended ones that keep the stock
) WITH (fillfactor = 50)
)sql";

std::string versions_table(const char* name) {
  return concat("CREATE TABLE ", name, R"sql( (
  voucher_id         BIGINT   NOT NULL,
  version            BIGINT   NOT NULL,  -- 1, 2, 3, ...
  state              SMALLINT NOT NULL,  -- 0 pending, 1 applied, 2 refused
  reason             BYTEA    NOT NULL,  -- why it was refused
  title              BYTEA    NOT NULL,
  stock              BIGINT   NOT NULL,
  begin_ms           BIGINT   NOT NULL,
  end_ms             BIGINT   NOT NULL,
  price_cents        BIGINT   NOT NULL,
  limit_total        BIGINT   NOT NULL,
  limit_per_user     BIGINT   NOT NULL,
  limit_per_user_day BIGINT   NOT NULL,
  utc_offset_minutes BIGINT   NOT NULL,
  payment_ms         BIGINT   NOT NULL,
  restock            BIGINT   NOT NULL,
  restore_allowance  BIGINT   NOT NULL,
  waiting_max        BIGINT   NOT NULL,
  needs_token        BIGINT   NOT NULL,
  PRIMARY KEY (voucher_id, version)
)
)sql");
}

std::string orders_table(const char* name) {
  return concat("CREATE TABLE ", name, R"sql( (
  id                BIGINT   PRIMARY KEY,
  user_id           BIGINT   NOT NULL,  -- 0 with a name
  user_name         BYTEA    NOT NULL,
  voucher_id        BIGINT   NOT NULL,
  status            SMALLINT NOT NULL,
  user_limit        BIGINT   NOT NULL,  -- pieces per user when it was admitted; 0: any number
  admitted_at_ms    BIGINT   NOT NULL,  -- since 1970 UTC
  entry_ms          BIGINT   NOT NULL,  -- id of its entry in the order stream
  entry_seq         BIGINT   NOT NULL,
  created_at_ms     BIGINT   NOT NULL,  -- when the row was written
  voucher_version   BIGINT   NOT NULL,  -- 0 unknown
  price_cents       BIGINT   NOT NULL,  -- of one piece
  quantity          INTEGER  NOT NULL,
  due_at_ms         BIGINT   NOT NULL,  -- 0 demands no payment
  reference         BYTEA    NOT NULL,
  keeps             SMALLINT NOT NULL,  -- after its end: 1 the stock, 2 its user's allowance, 3 both
  idempotency_key   BYTEA    NOT NULL,  -- '' none
  key_expires_at_ms BIGINT   NOT NULL
)
)sql");
}

std::string payments_table(const char* name) {
  return concat("CREATE TABLE ", name, R"sql( (
  id             BYTEA    PRIMARY KEY,  -- the payment provider's
  order_id       BIGINT   NOT NULL,
  amount_cents   BIGINT   NOT NULL,
  state          SMALLINT NOT NULL,  -- 1 kept, 2 due, 3 refunded
  received_at_ms BIGINT   NOT NULL,  -- since 1970 UTC
  refunded_at_ms BIGINT   NOT NULL,  -- 0 not refunded
  reason         BYTEA    NOT NULL   -- why it is due
)
)sql");
}

std::string changes_table(const char* name) {
  return concat("CREATE TABLE ", name, R"sql( (
  position    BIGINT   PRIMARY KEY,  -- in the order of the commits, without gaps
  order_id    BIGINT   NOT NULL,
  from_status SMALLINT NOT NULL,
  to_status   SMALLINT NOT NULL,
  at_ms       BIGINT   NOT NULL,  -- since 1970 UTC
  reason      BYTEA    NOT NULL,
  actor       BYTEA    NOT NULL
)
)sql");
}

constexpr char kArchivedVouchers[] = R"sql(
CREATE TABLE archived_vouchers (
  voucher_id     BIGINT   PRIMARY KEY,
  archived_at_ms BIGINT   NOT NULL,  -- since 1970 UTC
  deleted        SMALLINT NOT NULL   -- 1: its orders were deleted
)
)sql";

/// Returns COMMENT statements for the columns whose lines have a comment.
void add_comments(const std::string& table_text, std::vector<std::string>& statements) {
  constexpr std::string_view kCreate = "CREATE TABLE ";
  std::istringstream lines(table_text);
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string column;
    words >> column;
    if (line.starts_with(kCreate)) {
      table = line.substr(kCreate.size(), line.find(" (") - kCreate.size());
      continue;
    }
    const std::size_t mark = line.find("-- ");
    if (mark == std::string::npos) continue;
    statements.push_back(concat("COMMENT ON COLUMN ", table, ".", column, " IS '",
                                absl::StrReplaceAll(line.substr(mark + 3), {{"'", "''"}}), "'"));
  }
}

/// Returns the name of a state in SQL.
std::string status_name() {
  std::string text = "CASE status";
  for (const OrderStatus status : kOrderStatuses) {
    text += concat(" WHEN ", static_cast<int>(status), " THEN '", order_status_name(status), "'");
  }
  return text + " END";
}

// Bytes that are not UTF-8 are shown with escapes.
constexpr char kToText[] = R"sql(
CREATE FUNCTION rushgate_text(bytes BYTEA) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE AS $body$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN others THEN
  RETURN encode(bytes, 'escape');
END $body$
)sql";

/// The orders as people read them.
std::string readable_orders() {
  const auto select = [](const char* table, const char* is_archived) {
    return concat(
        "SELECT id, CASE WHEN user_name = '' THEN user_id::text ELSE rushgate_text(user_name) END "
        "AS "
        "user_id, voucher_id, ",
        status_name(),
        " AS status, to_timestamp(admitted_at_ms / 1000.0) AS admitted_at, "
        "CASE WHEN due_at_ms > 0 THEN to_timestamp(due_at_ms / 1000.0) END AS due_at, quantity, "
        "price_cents, quantity * price_cents AS amount_cents, rushgate_text(reference) AS "
        "reference, "
        "rushgate_text(idempotency_key) AS idempotency_key, ",
        is_archived, " AS is_archived FROM ", table);
  };
  return concat("CREATE VIEW orders_readable AS ", select("orders", "false"), " UNION ALL ",
                select("archived_orders", "true"));
}

/// Adds the comments of the tables that the statements create.
std::vector<std::string> with_comments(std::vector<std::string> statements) {
  for (std::size_t i = 0, count = statements.size(); i < count; ++i) {
    const std::size_t begin = std::min(statements[i].find_first_not_of('\n'), statements[i].size());
    const std::string text = statements[i].substr(begin);
    if (text.starts_with("CREATE TABLE ")) add_comments(text, statements);
  }
  return statements;
}

std::vector<std::string> first_schema() {
  return {
      kDatabaseState,
      kReservedIds,
      kLiveOrders,
      versions_table("voucher_versions"),
      "CREATE INDEX voucher_versions_pending ON voucher_versions (voucher_id, version) WHERE "
      "state = 0",
      orders_table("orders"),
      "CREATE INDEX orders_by_user ON orders (user_id, user_name, voucher_id)",
      "CREATE INDEX orders_by_voucher ON orders (voucher_id, id)",
      // The states that end by themselves.
      "CREATE INDEX orders_unpaid ON orders (voucher_id, id) WHERE status = 2",
      "CREATE INDEX orders_refunding ON orders (voucher_id, id) WHERE status = 5",
      "CREATE INDEX orders_by_key ON orders (idempotency_key, key_expires_at_ms) WHERE "
      "idempotency_key <> ''",
      "CREATE INDEX orders_by_key_end ON orders (key_expires_at_ms, id) WHERE idempotency_key <> "
      "''",
      payments_table("payments"),
      "CREATE INDEX payments_by_order ON payments (order_id)",
      "CREATE INDEX payments_due ON payments (id) WHERE state = 2",
      changes_table("order_changes"),
      "CREATE INDEX order_changes_by_order ON order_changes (order_id)",
      // Ended sales: the rows of the tables above, moved.
      kArchivedVouchers,
      versions_table("archived_versions"),
      orders_table("archived_orders"),
      "CREATE INDEX archived_orders_by_voucher ON archived_orders (voucher_id, id)",
      "CREATE INDEX archived_orders_by_key ON archived_orders (idempotency_key, key_expires_at_ms) "
      "WHERE idempotency_key <> ''",
      "CREATE INDEX archived_orders_by_key_end ON archived_orders (key_expires_at_ms, id) WHERE "
      "idempotency_key <> ''",
      payments_table("archived_payments"),
      "CREATE INDEX archived_payments_by_order ON archived_payments (order_id)",
      changes_table("archived_changes"),
      "CREATE INDEX archived_changes_by_order ON archived_changes (order_id)",
      kToText,
      readable_orders(),
  };
}

}  // namespace

std::span<const std::vector<std::string>> postgresql_migrations() {
  static const std::vector<std::vector<std::string>> kMigrations = {
      with_comments(first_schema()), with_comments({kLaneStates, kLaneReservedIds, kVoucherLanes}),
      with_comments({"ALTER TABLE voucher_versions ADD COLUMN lanes BIGINT NOT NULL DEFAULT 1",
                     "ALTER TABLE archived_versions ADD COLUMN lanes BIGINT NOT NULL DEFAULT 1",
                     kMovedPieces})};
  return kMigrations;
}

}  // namespace rushgate
