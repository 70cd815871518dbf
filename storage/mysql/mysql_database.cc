#include "storage/mysql/mysql_database.h"

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/mysql/mysql_connection.h"
#include "storage/mysql/mysql_schema.h"
#include "storage/sql/store_url.h"

namespace rushgate {
namespace {

class MysqlDatabase final : public sql::Database {
 public:
  MysqlDatabase(MysqlSettings settings, std::string name)
      : settings_(std::move(settings)), name_(std::move(name)) {}

  absl::StatusOr<std::unique_ptr<sql::Connection>> connect() override {
    return MysqlConnection::open(settings_);
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] std::string or_update(std::string_view /*key*/) const override {
    return " ON DUPLICATE KEY UPDATE";
  }
  [[nodiscard]] std::string inserted(std::string_view column) const override {
    return concat("VALUES(", column, ")");
  }
  [[nodiscard]] std::string to_integer(std::string_view expression) const override {
    return concat("CAST(", expression, " AS SIGNED)");
  }

  [[nodiscard]] std::string join_by_index(std::string_view table,
                                          std::string_view index) const override {
    return concat(" STRAIGHT_JOIN ", table, " FORCE INDEX (", index, ")");
  }

  // A subquery in its place would read the whole table, and lock it.
  [[nodiscard]] std::string delete_by_index(std::string_view table, std::string_view index,
                                            std::string_view others) const override {
    return concat("DELETE ", table, " FROM ", others, join_by_index(table, index), " WHERE");
  }

  [[nodiscard]] std::span<const std::vector<std::string>> migrations() const override {
    return mysql_migrations();
  }
  [[nodiscard]] sql::Statement lock_migrations() const override {
    return {"SELECT get_lock(concat('rushgate.', database()), 60)"};
  }
  [[nodiscard]] sql::Statement count_tables(std::string_view table) const override {
    return {
        concat("SELECT count(*) FROM information_schema.tables WHERE table_schema = database() "
               "AND table_name = '",
               table, "'")};
  }

 private:
  const MysqlSettings settings_;
  const std::string name_;
};

absl::Status take_option(const std::string& name, const std::string& value,
                         MysqlSettings& settings) {
  using Tls = MysqlSettings::Tls;
  if (name == "socket") {
    settings.socket = value;
  } else if (name == "tls_ca") {
    settings.tls_ca = value;
    settings.tls = Tls::kVerify;
  } else if (name == "tls" && value == "off") {
    settings.tls = Tls::kOff;
  } else if (name == "tls" && value == "required") {
    settings.tls = Tls::kRequired;
  } else if (name == "tls" && value == "verify") {
    settings.tls = Tls::kVerify;
  } else if (name == "tls") {
    return absl::InvalidArgumentError("URL of orders: tls is none of off, required and verify");
  } else {
    return absl::InvalidArgumentError(
        concat("URL of orders: a MariaDB has no option \"", name, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<sql::DatabaseAt> mysql_database(std::string_view url) {
  ASSIGN_OR_RETURN(const auto own, sql::take_own_options(url));
  ASSIGN_OR_RETURN(const auto parts, sql::parse_url(own.rest));
  const char* const password = std::getenv("MYSQL_PWD");
  MysqlSettings settings{.host = parts.host,
                         .port = parts.port,
                         .user = parts.user,
                         .password = own.password.value_or(
                             parts.password.value_or(password == nullptr ? "" : password)),
                         .database = parts.database,
                         .statement_timeout = own.statement_timeout};
  if (own.connect_timeout) settings.connect_timeout = *own.connect_timeout;
  for (const auto& [name, value] : parts.options) {
    RETURN_IF_ERROR(take_option(name, value, settings));
  }
  std::string name = concat("mysql://", parts.user, "@", parts.host,
                            parts.port == 0 ? "" : concat(":", parts.port), "/", parts.database);
  return sql::DatabaseAt{
      .database = std::make_unique<MysqlDatabase>(std::move(settings), std::move(name)),
      .pool = {.connections_max = own.pool_size, .wait_max = own.statement_timeout}};
}

}  // namespace rushgate
