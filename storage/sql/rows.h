// The columns of the tables, and the values that their rows stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "storage/sql/sql_port.h"
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate::sql {

// Each list of columns is in the order in which its function reads a row.

std::string order_columns();
Order to_order(const Row& row);
Table to_table(std::span<const Order* const> orders);

std::string payment_columns();
Payment to_payment(const Row& row);
Table to_table(std::span<const Payment* const> payments);

std::string change_columns();
OrderChange to_change(const Row& row);
Table to_table(std::span<const OrderChange> changes);

std::string version_columns();
VoucherVersion to_version(const Row& row);
Table to_table(const VoucherVersion& version);

std::string moved_columns();
MovedPieces to_moved(const Row& row);
Table to_table(const MovedPieces& moved);

/// Reads identity, epoch, checkpoint and revision.
DatabaseState to_state(const Row& row);

/// Returns the values of a user in the columns user_id and user_name.
inline std::int64_t number_column(const UserId& user) { return user.number(); }
inline std::string name_column(const UserId& user) { return std::string(user.name()); }

/// Returns `rows`, each read by `to_value`.
template <class ToValue>
auto to_values(const Rows& rows, ToValue to_value) {
  std::vector<std::invoke_result_t<ToValue, const Row&>> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(to_value(row));
  return values;
}

}  // namespace rushgate::sql
