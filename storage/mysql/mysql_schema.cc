#include "storage/mysql/mysql_schema.h"

#include "engine/core/base/concat.h"
#include <rushgate/order_status.h>

namespace rushgate {
namespace {

/// Adds the number of lanes. An interrupted migration is run again.
std::string add_lanes_to(std::string_view versions) {
  return concat("ALTER TABLE ", versions,
                " ADD COLUMN IF NOT EXISTS lanes BIGINT NOT NULL DEFAULT 1");
}

std::string table(std::string_view name, std::string_view columns) {
  return concat("CREATE TABLE IF NOT EXISTS ", name, " (", columns, ") ENGINE = InnoDB");
}

// Texts are bytes: a reference, a key or a title may have any. The view orders_readable shows them as
// text.
constexpr char kDatabaseState[] = R"sql(
  only_row    TINYINT PRIMARY KEY CHECK (only_row = 1),
  version     BIGINT NOT NULL COMMENT 'of these tables',
  identity    VARBINARY(16) NOT NULL COMMENT 'of this database: 16 hex digits',
  epoch       BIGINT NOT NULL COMMENT 'a batch that was read in another one is refused',
  checkpoint  BIGINT NOT NULL COMMENT 'the keyspace has at least this one, or it lost writes',
  revision    BIGINT NOT NULL COMMENT 'raised by each batch; a database that lost one has a smaller one',
  last_change BIGINT NOT NULL COMMENT 'the greatest position in order_changes that was ever given'
)sql";

constexpr char kReservedIds[] = R"sql(
  day      BIGINT PRIMARY KEY COMMENT 'since 1970 UTC',
  reserved BIGINT NOT NULL
)sql";

constexpr char kLaneStates[] = R"sql(
  lane       BIGINT PRIMARY KEY COMMENT '1, 2, 3, …; the lane 0 has the row of database_state',
  epoch      BIGINT NOT NULL,
  checkpoint BIGINT NOT NULL,
  revision   BIGINT NOT NULL
)sql";

constexpr char kLaneReservedIds[] = R"sql(
  lane     BIGINT NOT NULL COMMENT 'reserved_ids has those of the lane 0',
  day      BIGINT NOT NULL COMMENT 'since 1970 UTC',
  reserved BIGINT NOT NULL,
  PRIMARY KEY (lane, day)
)sql";

constexpr char kVoucherLanes[] = R"sql(
  voucher_id BIGINT PRIMARY KEY,
  lane       BIGINT NOT NULL COMMENT 'on which it lives; a voucher that has no row is on the lane 0'
)sql";

constexpr char kMovedPieces[] = R"sql(
  voucher_id BIGINT NOT NULL COMMENT 'one that is on several lanes',
  from_lane  BIGINT NOT NULL,
  to_lane    BIGINT NOT NULL,
  pieces     BIGINT NOT NULL COMMENT 'moved between these lanes in all',
  PRIMARY KEY (voucher_id, from_lane, to_lane)
)sql";

constexpr char kLiveOrders[] = R"sql(
  voucher_id BIGINT PRIMARY KEY,
  live       BIGINT NOT NULL COMMENT 'pieces of live orders, and of ended ones that keep the stock'
)sql";

constexpr char kVersions[] = R"sql(
  voucher_id         BIGINT   NOT NULL,
  version            BIGINT   NOT NULL COMMENT '1, 2, 3, …',
  state              SMALLINT NOT NULL COMMENT '0 pending, 1 applied, 2 refused',
  reason             BLOB     NOT NULL COMMENT 'why it was refused',
  title              BLOB     NOT NULL,
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
)sql";

constexpr char kOrders[] = R"sql(
  id                BIGINT         PRIMARY KEY,
  user_id           BIGINT         NOT NULL COMMENT '0 with a name',
  user_name         VARBINARY(64)  NOT NULL,
  voucher_id        BIGINT         NOT NULL,
  status            SMALLINT       NOT NULL,
  user_limit        BIGINT         NOT NULL COMMENT 'pieces per user when it was admitted; 0: any number',
  admitted_at_ms    BIGINT         NOT NULL COMMENT 'since 1970 UTC',
  entry_ms          BIGINT         NOT NULL COMMENT 'id of its entry in the order stream',
  entry_seq         BIGINT         NOT NULL,
  created_at_ms     BIGINT         NOT NULL COMMENT 'when the row was written',
  voucher_version   BIGINT         NOT NULL COMMENT '0 unknown',
  price_cents       BIGINT         NOT NULL COMMENT 'of one piece',
  quantity          INT            NOT NULL,
  due_at_ms         BIGINT         NOT NULL COMMENT '0 demands no payment',
  reference         VARBINARY(255) NOT NULL,
  keeps             SMALLINT       NOT NULL COMMENT 'after its end: 1 the stock, 2 its allowance, 3 both',
  idempotency_key   VARBINARY(255) NOT NULL COMMENT 'empty: none',
  key_expires_at_ms BIGINT         NOT NULL,
  KEY by_voucher (voucher_id),
  KEY by_key (idempotency_key, key_expires_at_ms),
  KEY by_key_end (key_expires_at_ms)
)sql";

// An index has the primary key behind its columns.
constexpr char kIndexesOfOrders[] =
    ", KEY by_user (user_id, user_name, voucher_id), KEY by_status (voucher_id, status)";

constexpr char kPayments[] = R"sql(
  id             VARBINARY(64) PRIMARY KEY COMMENT 'the payment provider''s',
  order_id       BIGINT        NOT NULL,
  amount_cents   BIGINT        NOT NULL,
  state          SMALLINT      NOT NULL COMMENT '1 kept, 2 due, 3 refunded',
  received_at_ms BIGINT        NOT NULL COMMENT 'since 1970 UTC',
  refunded_at_ms BIGINT        NOT NULL COMMENT '0 not refunded',
  reason         BLOB          NOT NULL COMMENT 'why it is due',
  KEY by_order (order_id),
  KEY by_state (state)
)sql";

constexpr char kChanges[] = R"sql(
  position    BIGINT   PRIMARY KEY COMMENT 'in the order of the commits, without gaps',
  order_id    BIGINT   NOT NULL,
  from_status SMALLINT NOT NULL,
  to_status   SMALLINT NOT NULL,
  at_ms       BIGINT   NOT NULL COMMENT 'since 1970 UTC',
  reason      BLOB     NOT NULL,
  actor       BLOB     NOT NULL,
  KEY by_order (order_id)
)sql";

constexpr char kArchivedVouchers[] = R"sql(
  voucher_id     BIGINT   PRIMARY KEY,
  archived_at_ms BIGINT   NOT NULL COMMENT 'since 1970 UTC',
  deleted        SMALLINT NOT NULL COMMENT '1: its orders were deleted'
)sql";

/// The orders as people read them.
std::string readable_orders() {
  std::string status = "CASE status";
  for (const OrderStatus known : kOrderStatuses) {
    status += concat(" WHEN ", static_cast<int>(known), " THEN '", order_status_name(known), "'");
  }
  const auto select = [&](const char* name, const char* is_archived) {
    return concat(
        "SELECT id, if(user_name = '', user_id, CONVERT(user_name USING utf8mb4)) AS user_id, "
        "voucher_id, ",
        status,
        " END AS status, from_unixtime(admitted_at_ms / 1000) AS admitted_at, "
        "if(due_at_ms > 0, from_unixtime(due_at_ms / 1000), NULL) AS due_at, quantity, "
        "price_cents, "
        "quantity * price_cents AS amount_cents, CONVERT(reference USING utf8mb4) AS reference, "
        "CONVERT(idempotency_key USING utf8mb4) AS idempotency_key, ",
        is_archived, " AS is_archived FROM ", name);
  };
  return concat("CREATE OR REPLACE VIEW orders_readable AS ", select("orders", "0"), " UNION ALL ",
                select("archived_orders", "1"));
}

}  // namespace

std::span<const std::vector<std::string>> mysql_migrations() {
  static const std::vector<std::vector<std::string>> kMigrations = {
      {table("database_state", kDatabaseState), table("reserved_ids", kReservedIds),
       table("live_orders", kLiveOrders), table("voucher_versions", kVersions),
       table("orders", concat(kOrders, kIndexesOfOrders)), table("payments", kPayments),
       table("order_changes", kChanges), table("archived_vouchers", kArchivedVouchers),
       table("archived_versions", kVersions), table("archived_orders", kOrders),
       table("archived_payments", kPayments), table("archived_changes", kChanges),
       readable_orders()},
      {table("lane_states", kLaneStates), table("lane_reserved_ids", kLaneReservedIds),
       table("voucher_lanes", kVoucherLanes)},
      {add_lanes_to("voucher_versions"), add_lanes_to("archived_versions"),
       table("moved_pieces", kMovedPieces)}};
  return kMigrations;
}

}  // namespace rushgate
