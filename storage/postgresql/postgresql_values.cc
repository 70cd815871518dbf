#include "storage/postgresql/postgresql_values.h"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

// Types, as in PostgreSQL's catalogue pg_type, where these numbers never change.
constexpr Oid kBool = 16;
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kByteaArray = 1001;
constexpr Oid kInt8Array = 1016;

/// Appends an integer, the most significant byte first.
template <class Integer>
void append(std::string& bytes, Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  for (int shift = sizeof(Integer) * 8 - 8; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>((bits >> shift) & 0xff));
  }
}

void append_element(std::string& bytes, std::int64_t value) {
  append<std::int32_t>(bytes, sizeof value);
  append(bytes, value);
}
void append_element(std::string& bytes, const std::string& value) {
  append(bytes, static_cast<std::int32_t>(value.size()));
  bytes += value;
}

/// Returns an array of one dimension, without NULL.
template <class T>
std::string to_array(const std::vector<T>& values, Oid type_of_elements) {
  std::string bytes;
  bytes.reserve(20 + values.size() * 16);
  append<std::int32_t>(bytes, values.empty() ? 0 : 1);  // dimensions
  append<std::int32_t>(bytes, 0);                       // it has no NULL
  append(bytes, static_cast<std::int32_t>(type_of_elements));
  if (!values.empty()) {
    append(bytes, static_cast<std::int32_t>(values.size()));
    append<std::int32_t>(bytes, 1);  // the index of the first element
  }
  for (const T& value : values) append_element(bytes, value);
  return bytes;
}

std::int64_t to_integer(const char* bytes, int length) {
  std::uint64_t bits = static_cast<signed char>(bytes[0]) < 0 ? ~std::uint64_t{0} : 0;
  for (int i = 0; i < length; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  return std::bit_cast<std::int64_t>(bits);
}

sql::Value value_at(const PGresult& result, int row, int column) {
  if (PQgetisnull(&result, row, column) == 1) return {};
  const char* const bytes = PQgetvalue(&result, row, column);
  const int length = PQgetlength(&result, row, column);
  switch (PQftype(&result, column)) {
    case kBool:
    case kInt2:
    case kInt4:
    case kInt8:
      return to_integer(bytes, length);
    default:
      return std::string(bytes, static_cast<std::size_t>(length));
  }
}

}  // namespace

void PostgresqlParameters::write_value(const sql::Value& value, std::string& text) {
  std::string bytes;
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    append(bytes, *number);
    add(kInt8, std::move(bytes), text);
  } else {
    add(kBytea, std::get<std::string>(value), text);
  }
}

void PostgresqlParameters::write_table(const sql::Table& table, std::string& text) {
  write_unnest(table, text);
  text += concat(" AS rows_", count(), "(");
  for (std::size_t i = 0; i < table.size(); ++i) text += concat(i == 0 ? "" : ", ", table[i].name);
  text += ")";
}

void PostgresqlParameters::write_rows(const sql::Table& table, std::string& text) {
  text += "SELECT * FROM ";
  write_unnest(table, text);
}

void PostgresqlParameters::write_unnest(const sql::Table& table, std::string& text) {
  text += "unnest(";
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i > 0) text += ", ";
    if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&table[i].values)) {
      add(kInt8Array, to_array(*integers, kInt8), text);
    } else {
      add(kByteaArray, to_array(std::get<std::vector<std::string>>(table[i].values), kBytea), text);
    }
  }
  text += ")";
}

void PostgresqlParameters::add(Oid type, std::string bytes, std::string& text) {
  types_.push_back(type);
  lengths_.push_back(static_cast<int>(bytes.size()));
  bytes_.push_back(std::move(bytes));
  text += concat("$", count());
}

const char* const* PostgresqlParameters::values() {
  values_.clear();
  for (const std::string& bytes : bytes_) values_.push_back(bytes.data());
  return values_.data();
}

const int* PostgresqlParameters::formats() {
  constexpr int kBinary = 1;
  formats_.assign(types_.size(), kBinary);
  return formats_.data();
}

sql::Rows postgresql_rows(const PGresult& result) {
  const int columns = PQnfields(&result);
  sql::Rows rows;
  rows.reserve(static_cast<std::size_t>(PQntuples(&result)));
  for (int row = 0; row < PQntuples(&result); ++row) {
    std::vector<sql::Value> values;
    values.reserve(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column)
      values.push_back(value_at(result, row, column));
    rows.emplace_back(std::move(values));
  }
  return rows;
}

}  // namespace rushgate
