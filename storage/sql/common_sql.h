// Parts of statements that several files use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "engine/core/base/concat.h"
#include "storage/sql/sql_port.h"
#include <rushgate/order_status.h>

namespace rushgate::sql {

// ---- Locks: the row of database_state first, then those of lane_states in ascending order ----

/// Returns the query of the state of the database, which is also that of the lane 0.
inline Statement read_state() {
  return {
      "SELECT identity, epoch, checkpoint, revision, last_change FROM database_state "
      "WHERE only_row = 1"};
}
/// The same, and waits until no other transaction holds this row. Batches of the lane 0 and those with
/// changes of orders hold it, since changes have positions in the order of their commits.
inline Statement lock_state() { return {concat(read_state().text, " FOR UPDATE")}; }
/// Returns the query that waits until no other transaction writes a batch of the lane, which is not 0.
inline Statement lock_lane(int lane) {
  return {"SELECT epoch, checkpoint, revision FROM lane_states WHERE lane = ?1 FOR UPDATE",
          {std::int64_t{lane}}};
}
/// Returns the query that waits for the batches of all lanes but 0. Behind lock_state(), nobody else writes
/// batches, and the queries behind both see what others committed.
inline Statement lock_lanes() {
  return {"SELECT lane, epoch, checkpoint, revision FROM lane_states ORDER BY lane FOR UPDATE"};
}

/// Returns a maximum of rows as the value of LIMIT.
inline std::int64_t to_limit(std::size_t count_max) {
  constexpr std::size_t kCountMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(count_max, kCountMax));
}

// Indexes that several statements name.
inline constexpr char kById[] = "PRIMARY";
inline constexpr char kByOrder[] = "by_order";

/// Returns the statement that inserts the rows of its first table.
inline std::string insert_into(std::string_view table, std::string_view columns) {
  return concat("INSERT INTO ", table, " (", columns, ") %1");
}

// Conditions that a partial index of the schema may have. A query repeats them to use the index.

/// Returns the condition of live orders. Their states have the numbers up to the last one.
inline std::string live_rows() {
  constexpr auto kFirstEnded =
      std::ranges::find_if_not(kOrderStatuses, [](OrderStatus status) { return is_live(status); });
  static_assert(std::none_of(kFirstEnded, kOrderStatuses.end(),
                             [](OrderStatus status) { return is_live(status); }));
  return concat("status <= ", static_cast<int>(*std::prev(kFirstEnded)));
}

/// Returns the condition of orders with an idempotency key.
inline std::string rows_with_key() { return "idempotency_key <> ''"; }

}  // namespace rushgate::sql
