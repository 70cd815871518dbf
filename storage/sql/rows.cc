#include "storage/sql/rows.h"

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "engine/sale/model/voucher_terms.h"

namespace rushgate::sql {
namespace {

/// A column of a table whose rows are of the type T: integers, or bytes. The other two are null.
template <class T>
struct ColumnOf {
  std::string_view name;
  std::int64_t (*get_integer)(const T& value) = nullptr;
  std::string (*get_text)(const T& value) = nullptr;
  void (*set_integer)(T& value, std::int64_t number) = nullptr;
  void (*set_text)(T& value, const std::string& text) = nullptr;
};

// Bits of the column `keeps`.
constexpr std::int64_t kKeepsStock = 1;
constexpr std::int64_t kKeepsAllowance = 2;

/// Returns the column of an integer or an enumeration. Parts of a stream id above 2^63 become negative.
template <auto kMember, class T>
constexpr ColumnOf<T> integer(std::string_view name) {
  using Type = std::remove_cvref_t<decltype(std::declval<T>().*kMember)>;
  return {.name = name,
          .get_integer = [](const T& value) { return static_cast<std::int64_t>(value.*kMember); },
          .set_integer = [](T& value,
                            std::int64_t number) { value.*kMember = static_cast<Type>(number); }};
}
template <auto kMember, class T>
constexpr ColumnOf<T> text(std::string_view name) {
  return {.name = name,
          .get_text = [](const T& value) { return value.*kMember; },
          .set_text = [](T& value, const std::string& text) { value.*kMember = text; }};
}

constexpr std::array kOrderColumns = {
    integer<&Order::id, Order>("id"),
    ColumnOf<Order>{.name = "user_id",
                    .get_integer = [](const Order& order) { return number_column(order.user); },
                    .set_integer = [](Order& order, std::int64_t number) { order.user = number; }},
    ColumnOf<Order>{.name = "user_name",
                    .get_text = [](const Order& order) { return name_column(order.user); },
                    .set_text =
                        [](Order& order, const std::string& name) {
                          if (!name.empty()) order.user = UserId(name);
                        }},
    integer<&Order::voucher, Order>("voucher_id"),
    integer<&Order::status, Order>("status"),
    integer<&Order::limit, Order>("user_limit"),
    integer<&Order::admitted_at_ms, Order>("admitted_at_ms"),
    ColumnOf<Order>{
        .name = "entry_ms",
        .get_integer =
            [](const Order& order) { return std::bit_cast<std::int64_t>(order.entry.ms); },
        .set_integer =
            [](Order& order, std::int64_t number) {
              order.entry.ms = std::bit_cast<std::uint64_t>(number);
            }},
    ColumnOf<Order>{
        .name = "entry_seq",
        .get_integer =
            [](const Order& order) { return std::bit_cast<std::int64_t>(order.entry.seq); },
        .set_integer =
            [](Order& order, std::int64_t number) {
              order.entry.seq = std::bit_cast<std::uint64_t>(number);
            }},
    integer<&Order::created_at_ms, Order>("created_at_ms"),
    integer<&Order::version, Order>("voucher_version"),
    integer<&Order::price_cents, Order>("price_cents"),
    integer<&Order::quantity, Order>("quantity"),
    integer<&Order::due_at_ms, Order>("due_at_ms"),
    text<&Order::reference, Order>("reference"),
    ColumnOf<Order>{.name = "keeps",
                    .get_integer =
                        [](const Order& order) {
                          return (order.keeps_stock ? kKeepsStock : 0) +
                                 (order.keeps_allowance ? kKeepsAllowance : 0);
                        },
                    .set_integer =
                        [](Order& order, std::int64_t bits) {
                          order.keeps_stock = (bits & kKeepsStock) != 0;
                          order.keeps_allowance = (bits & kKeepsAllowance) != 0;
                        }},
    text<&Order::idempotency_key, Order>("idempotency_key"),
    integer<&Order::key_expires_at_ms, Order>("key_expires_at_ms"),
};

constexpr std::array kPaymentColumns = {
    text<&Payment::id, Payment>("id"),
    integer<&Payment::order, Payment>("order_id"),
    integer<&Payment::amount_cents, Payment>("amount_cents"),
    integer<&Payment::state, Payment>("state"),
    integer<&Payment::received_at_ms, Payment>("received_at_ms"),
    integer<&Payment::refunded_at_ms, Payment>("refunded_at_ms"),
    text<&Payment::reason, Payment>("reason"),
};

constexpr std::array kChangeColumns = {
    integer<&OrderChange::position, OrderChange>("position"),
    integer<&OrderChange::order, OrderChange>("order_id"),
    integer<&OrderChange::from, OrderChange>("from_status"),
    integer<&OrderChange::to, OrderChange>("to_status"),
    integer<&OrderChange::at_ms, OrderChange>("at_ms"),
    text<&OrderChange::reason, OrderChange>("reason"),
    text<&OrderChange::actor, OrderChange>("actor"),
};

template <class Columns>
std::string names_of(const Columns& columns) {
  std::string names;
  for (const auto& column : columns) {
    if (!names.empty()) names += ", ";
    names += column.name;
  }
  return names;
}

template <class T, std::size_t kSize>
T from_row(const std::array<ColumnOf<T>, kSize>& columns, const Row& row) {
  T value{};
  std::size_t at = 0;
  for (const auto& column : columns) {
    if (column.set_text != nullptr) {
      column.set_text(value, row.text(at++));
    } else {
      column.set_integer(value, row.integer(at++));
    }
  }
  return value;
}

const Order& value_of(const Order* order) { return *order; }
const Payment& value_of(const Payment* payment) { return *payment; }
const OrderChange& value_of(const OrderChange& change) { return change; }

template <class T, std::size_t kSize, class Values>
Table table_of(const std::array<ColumnOf<T>, kSize>& columns, const Values& values) {
  const auto read_all = [&](auto get) {
    std::vector<std::invoke_result_t<decltype(get), const T&>> read;
    read.reserve(values.size());
    for (const auto& value : values) read.push_back(get(value_of(value)));
    return read;
  };
  Table table;
  table.reserve(columns.size());
  for (const auto& column : columns) {
    if (column.get_text != nullptr) {
      table.push_back({column.name, read_all(column.get_text)});
    } else {
      table.push_back({column.name, read_all(column.get_integer)});
    }
  }
  return table;
}

}  // namespace

std::string order_columns() { return names_of(kOrderColumns); }
Order to_order(const Row& row) { return from_row(kOrderColumns, row); }
Table to_table(std::span<const Order* const> orders) { return table_of(kOrderColumns, orders); }

std::string payment_columns() { return names_of(kPaymentColumns); }
Payment to_payment(const Row& row) { return from_row(kPaymentColumns, row); }
Table to_table(std::span<const Payment* const> payments) {
  return table_of(kPaymentColumns, payments);
}

std::string change_columns() { return names_of(kChangeColumns); }
OrderChange to_change(const Row& row) { return from_row(kChangeColumns, row); }
Table to_table(std::span<const OrderChange> changes) { return table_of(kChangeColumns, changes); }

std::string version_columns() {
  std::string columns = "voucher_id, version, state, reason, title";
  for (const VoucherTerm& term : kVoucherTerms) columns += ", " + std::string(term.column);
  return columns;
}

VoucherVersion to_version(const Row& row) {
  VoucherVersion version = {.voucher = {.id = row.integer(0), .title = row.text(4)},
                            .version = row.integer(1),
                            .state = static_cast<VoucherVersion::State>(row.integer(2)),
                            .reason = row.text(3)};
  std::size_t column = 5;
  for (const VoucherTerm& term : kVoucherTerms) term.set(version.voucher, row.integer(column++));
  return version;
}

Table to_table(const VoucherVersion& version) {
  Table table = {{"voucher_id", Integers{version.voucher.id}},
                 {"version", Integers{version.version}},
                 {"state", Integers{static_cast<std::int64_t>(version.state)}},
                 {"reason", Texts{version.reason}},
                 {"title", Texts{version.voucher.title}}};
  for (const VoucherTerm& term : kVoucherTerms) {
    table.push_back({term.column, Integers{term.get(version.voucher)}});
  }
  return table;
}

std::string moved_columns() { return "voucher_id, from_lane, to_lane, pieces"; }

MovedPieces to_moved(const Row& row) {
  return {.voucher = row.integer(0),
          .from = static_cast<int>(row.integer(1)),
          .to = static_cast<int>(row.integer(2)),
          .pieces = row.integer(3)};
}

Table to_table(const MovedPieces& moved) {
  return {{"voucher_id", Integers{moved.voucher}},
          {"from_lane", Integers{moved.from}},
          {"to_lane", Integers{moved.to}},
          {"pieces", Integers{moved.pieces}}};
}

DatabaseState to_state(const Row& row) {
  return {.identity = row.text(0),
          .epoch = row.integer(1),
          .checkpoint = row.integer(2),
          .revision = row.integer(3)};
}

}  // namespace rushgate::sql
