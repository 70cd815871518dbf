// Parameters and results in PostgreSQL's binary format.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <vector>

#include "storage/sql/sql_port.h"

namespace rushgate {

/// The parameters of one statement: $1, $2, … A table is an array for each column.
class PostgresqlParameters final : public sql::ParameterWriter {
 public:
  void write_value(const sql::Value& value, std::string& text) override;
  void write_table(const sql::Table& table, std::string& text) override;
  void write_rows(const sql::Table& table, std::string& text) override;

  // The arguments of PQsendQueryParams(), which live as long as this object.
  [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const Oid* types() const { return types_.data(); }
  [[nodiscard]] const char* const* values();
  [[nodiscard]] const int* lengths() const { return lengths_.data(); }
  [[nodiscard]] const int* formats();

 private:
  /// Writes unnest($1, $2, …).
  void write_unnest(const sql::Table& table, std::string& text);
  void add(Oid type, std::string bytes, std::string& text);

  std::vector<Oid> types_;
  std::vector<std::string> bytes_;
  std::vector<int> lengths_;
  std::vector<const char*> values_;
  std::vector<int> formats_;
};

/// Returns the rows of a result.
sql::Rows postgresql_rows(const PGresult& result);

}  // namespace rushgate
