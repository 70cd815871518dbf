#include "storage/mysql/mysql_connection.h"

#include <errmsg.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

using std::chrono::steady_clock;

// Numbers of MariaDB's errors (mysqld_error.h), which never change.
constexpr unsigned kServerShutdown = 1053;
constexpr unsigned kConnectionKilled = 1927;

unsigned whole_seconds(std::chrono::milliseconds time) {
  return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

/// Writes parameters as literals.
class LiteralWriter final : public sql::ParameterWriter {
 public:
  void write_value(const sql::Value& value, std::string& text) override {
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      text += concat(*number);
    } else {
      write_bytes(std::get<std::string>(value), text);
    }
  }

  void write_table(const sql::Table& table, std::string& text) override {
    // The first row names the columns. WITH (…) AS (VALUES …) would do so too, but not in a DELETE.
    text += "(SELECT ";
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (i > 0) text += ", ";
      write_element(table[i], 0, text);
      text += concat(" AS ", table[i].name);
    }
    if (rows_of(table) > 1) {
      text += " UNION ALL ";
      write_rows_from(table, 1, text);
    }
    text += concat(") AS rows_", ++tables_);
  }

  void write_rows(const sql::Table& table, std::string& text) override {
    write_rows_from(table, 0, text);
  }

 private:
  static std::size_t rows_of(const sql::Table& table) {
    return std::visit([](const auto& values) { return values.size(); }, table.front().values);
  }

  static void write_rows_from(const sql::Table& table, std::size_t first, std::string& text) {
    text += "VALUES ";
    for (std::size_t row = first; row < rows_of(table); ++row) {
      text += row == first ? "(" : ", (";
      for (std::size_t i = 0; i < table.size(); ++i) {
        if (i > 0) text += ", ";
        write_element(table[i], row, text);
      }
      text += ")";
    }
  }

  static void write_element(const sql::Column& column, std::size_t row, std::string& text) {
    if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&column.values)) {
      text.append(DecimalText((*integers)[row]).view());
    } else {
      write_bytes(std::get<std::vector<std::string>>(column.values)[row], text);
    }
  }

  /// In hexadecimal, no byte has a meaning of its own.
  static void write_bytes(std::string_view bytes, std::string& text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += "x'";
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      text.push_back(kDigits[byte >> 4]);
      text.push_back(kDigits[byte & 15]);
    }
    text += "'";
  }

  int tables_ = 0;
};

bool is_integer(enum_field_types type) {
  switch (type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
      return true;
    default:
      return false;
  }
}

}  // namespace

// kInvalidArgument means that an order is at fault (order_store.h), so only constraints and ranges may
// produce it.
absl::StatusCode code_of_mysql_error(unsigned number) {
  switch (number) {
    case 1213:  // deadlock
    case 1020:  // changed since the snapshot
      return absl::StatusCode::kAborted;
    case 1022:  // duplicate key
    case 1048:  // NULL
    case 1062:  // duplicate key
    case 1216:  // foreign keys
    case 1217:
    case 1264:  // out of range
    case 1366:  // no such value
    case 1406:  // too long
    case 1451:
    case 1452:
    case 1644:  // SIGNAL of a trigger
    case 1690:  // out of range
    case 4025:  // CHECK
      return absl::StatusCode::kInvalidArgument;
    case 1146:
      return absl::StatusCode::kNotFound;
    case 1050:
      return absl::StatusCode::kAlreadyExists;
    case 3:     // writing a file
    case 1021:  // disk full
    case 1026:  // writing a file
    case 1030:  // an error of the storage engine
    case 1037:  // out of memory
    case 1038:
    case 1041:
    case 1040:  // too many connections
    case 1203:
    case 1226:
    case kServerShutdown:
    case 1114:  // table full
    case 1158:  // network
    case 1159:
    case 1160:
    case 1161:
    case 1205:  // lock wait timeout
    case 1290:  // --read-only
    case 1317:  // interrupted
    case 1792:  // read-only transaction
    case 1836:  // read-only server
    case kConnectionKilled:
    case 1969:  // max_statement_time
      return absl::StatusCode::kUnavailable;
    case 1034:  // damaged
    case 1194:
    case 1195:
    case 1712:
      return absl::StatusCode::kDataLoss;
    default:
      // Connector/C: out of memory, no connection, lost connection.
      return number >= 2000 && number < 3000 ? absl::StatusCode::kUnavailable
                                             : absl::StatusCode::kInternal;
  }
}

// ---- Connecting -------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<sql::Connection>> MysqlConnection::open(
    const MysqlSettings& settings) {
  std::unique_ptr<MysqlConnection> connection(new MysqlConnection(settings.statement_timeout));
  if (connection->connection_ == nullptr) return absl::UnavailableError("out of memory");
  RETURN_IF_ERROR(connection->connect(settings));
  return connection;
}

void MysqlConnection::set_options(const MysqlSettings& settings) {
  MYSQL* const connection = connection_.get();
  const unsigned connect_seconds = whole_seconds(settings.connect_timeout);
  mysql_optionsv(connection, MYSQL_OPT_CONNECT_TIMEOUT, &connect_seconds);
  // Later than the server gives up, whose reason says more.
  const unsigned seconds = whole_seconds(timeout_) + 1;
  mysql_optionsv(connection, MYSQL_OPT_READ_TIMEOUT, &seconds);
  mysql_optionsv(connection, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
  mysql_optionsv(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  my_bool enforces = settings.tls != MysqlSettings::Tls::kOff;
  my_bool verifies = settings.tls == MysqlSettings::Tls::kVerify;
  mysql_optionsv(connection, MYSQL_OPT_SSL_ENFORCE, &enforces);
  mysql_optionsv(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verifies);
  if (!settings.tls_ca.empty())
    mysql_optionsv(connection, MYSQL_OPT_SSL_CA, settings.tls_ca.c_str());
}

absl::Status MysqlConnection::connect(const MysqlSettings& settings) {
  set_options(settings);
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  const auto began = steady_clock::now();
  if (mysql_real_connect(connection_.get(), text_or_null(settings.host), settings.user.c_str(),
                         settings.password.c_str(), settings.database.c_str(), settings.port,
                         text_or_null(settings.socket), CLIENT_MULTI_STATEMENTS) == nullptr) {
    absl::Status error = error_after(began);
    return absl::IsUnavailable(error) ? error : absl::UnavailableError(error.message());
  }
  constexpr unsigned long kOldest = 100600;
  const bool is_known = mariadb_connection(connection_.get()) != 0 &&
                        mysql_get_server_version(connection_.get()) >= kOldest;
  if (!is_known) {
    return absl::FailedPreconditionError(concat("it is no MariaDB of version 10.6 or later, but ",
                                                mysql_get_server_info(connection_.get())));
  }
  const unsigned seconds = whole_seconds(timeout_);
  const std::string wait = concat(std::max(1U, seconds * 3 / 4));
  return run_text(concat("SET SESSION sql_mode = 'STRICT_ALL_TABLES', autocommit = 1, ",
                         "innodb_lock_wait_timeout = ", wait, ", lock_wait_timeout = ", wait,
                         ", max_statement_time = ", seconds, ", idle_transaction_timeout = ",
                         seconds, "; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
      .status();
}

// ---- Statements -------------------------------------------------------------------------------

absl::StatusOr<std::vector<sql::Rows>> MysqlConnection::run(
    std::span<const sql::Statement> statements, sql::Part part) {
  if (is_lost_) return absl::UnavailableError("the connection is lost");
  std::string text;
  if (begins(part)) text += "START TRANSACTION";
  for (const sql::Statement& statement : statements) {
    LiteralWriter literals;
    if (!text.empty()) text += ";";
    text += sql::with_parameters(statement, literals);
  }
  if (commits(part)) text += text.empty() ? "COMMIT" : ";COMMIT";
  ASSIGN_OR_RETURN(auto results, run_text(text));
  if (begins(part)) results.erase(results.begin());
  if (commits(part)) results.pop_back();
  return results;
}

void MysqlConnection::roll_back() {
  const bool is_done = run_text("ROLLBACK").ok();
  is_lost_ = is_lost_ || !is_done;
}

absl::StatusOr<std::vector<sql::Rows>> MysqlConnection::run_text(const std::string& text) {
  const auto began = steady_clock::now();
  if (mysql_real_query(connection_.get(), text.data(), text.size()) != 0) return error_after(began);
  std::vector<sql::Rows> results;
  for (int more = 0; more == 0; more = mysql_next_result(connection_.get())) {
    auto rows = read_rows();
    if (!rows.ok()) return error_after(began);
    results.push_back(*std::move(rows));
  }
  if (mysql_errno(connection_.get()) != 0) return error_after(began);
  return results;
}

absl::StatusOr<sql::Rows> MysqlConnection::read_rows() {
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
      mysql_store_result(connection_.get()), mysql_free_result);
  if (result == nullptr) {
    if (mysql_errno(connection_.get()) != 0) return absl::UnavailableError("see error_after()");
    return sql::Rows();
  }
  const std::size_t columns = mysql_num_fields(result.get());
  const MYSQL_FIELD* const fields = mysql_fetch_fields(result.get());
  sql::Rows rows;
  rows.reserve(mysql_num_rows(result.get()));
  while (MYSQL_ROW row = mysql_fetch_row(result.get())) {
    const unsigned long* const lengths = mysql_fetch_lengths(result.get());
    std::vector<sql::Value> values(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      if (row[i] == nullptr) continue;
      const std::string_view text(row[i], lengths[i]);
      if (is_integer(fields[i].type)) {
        values[i] = parse_int64(text).value_or(0);
      } else {
        values[i] = std::string(text);
      }
    }
    rows.emplace_back(std::move(values));
  }
  return rows;
}

absl::Status MysqlConnection::error_after(steady_clock::time_point began) {
  const unsigned number = mysql_errno(connection_.get());
  const bool is_clients = number >= CR_MIN_ERROR && number <= CR_MAX_ERROR;
  is_lost_ = is_lost_ || is_clients || number == kServerShutdown || number == kConnectionKilled;
  if (number == CR_SERVER_LOST && steady_clock::now() - began > timeout_) {
    return absl::DeadlineExceededError("the server did not reply in time");
  }
  return absl::Status(code_of_mysql_error(number),
                      concat(mysql_error(connection_.get()), " (error ", number, ")"));
}

}  // namespace rushgate
