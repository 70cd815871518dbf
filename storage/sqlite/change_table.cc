#include "storage/sqlite/change_table.h"

#include <cassert>
#include <string>

#include "engine/core/base/concat.h"
#include "storage/sqlite/query.h"

namespace rushgate {
namespace {

// Parameters: ?1 after, ?2 count, ?3 order.
std::string list_changes_sql(bool of_order) {
  const auto select = [&](const char* table) {
    const std::string of = concat(" INDEXED BY ", table, "_by_order WHERE order_id = ?3 AND");
    return concat("SELECT ", kChangeColumns, " FROM ", table, of_order ? of : " WHERE",
                  " position > ?1");
  };
  return concat(select("order_changes"), " UNION ALL ", select("archived_changes"),
                " ORDER BY position LIMIT ?2");
}

}  // namespace

OrderChange to_change(const Query& row) {
  return {.position = row.integer(0),
          .order = row.integer(1),
          .from = static_cast<OrderStatus>(row.integer(2)),
          .to = static_cast<OrderStatus>(row.integer(3)),
          .at_ms = row.integer(4),
          .reason = row.text(5),
          .actor = row.text(6)};
}

void bind_change(Query& query, const OrderChange& change) {
  query.bind_all(change.position, change.order, static_cast<std::int64_t>(change.from),
                 static_cast<std::int64_t>(change.to), change.at_ms, change.reason, change.actor);
}

ChangeReader::ChangeReader(const SQLite::Database& database)
    : last_position_(
          database,
          "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'order_changes'), 0)"),
      all_(database, list_changes_sql(false)),
      of_order_(database, list_changes_sql(true)) {}

std::vector<OrderChange> ChangeReader::changes(std::int64_t after, std::size_t count_max,
                                               std::optional<OrderId> order) {
  Query query(order ? of_order_ : all_, after, to_limit(count_max));
  if (order) query.bind_next(*order);
  std::vector<OrderChange> changes;
  while (query.next()) changes.push_back(to_change(query));
  return changes;
}

std::int64_t ChangeReader::last_position() {
  Query query(last_position_);
  query.next();
  return query.integer(0);
}

ChangeWriter::ChangeWriter(const SQLite::Database& database)
    : database_(database),
      append_(database,
              "INSERT INTO order_changes (order_id, from_status, to_status, at_ms, reason, actor) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6)") {}

void ChangeWriter::append(const OrderChange& change) {
  Query(append_, change.order, static_cast<std::int64_t>(change.from),
        static_cast<std::int64_t>(change.to), change.at_ms, change.reason, change.actor)
      .next();
  const std::int64_t position = database_.getLastInsertRowid();
  assert(position > last_position_);  // positions ascend
  last_position_ = position;
}

}  // namespace rushgate
