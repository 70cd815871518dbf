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

/// Returns the query that waits until no other transaction writes. All that decide by what is stored begin
/// with it, so one decides at a time, and the queries behind it see what the others committed.
inline Statement lock_state() {
  return {
      "SELECT identity, epoch, checkpoint, revision, last_change FROM database_state "
      "WHERE only_row = 1 FOR UPDATE"};
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
