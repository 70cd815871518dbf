#include "storage/postgresql/postgresql_database.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/postgresql/postgresql_connection.h"
#include "storage/postgresql/postgresql_schema.h"
#include "storage/sql/store_url.h"

namespace rushgate {
namespace {

class PostgresqlDatabase final : public sql::Database {
 public:
  PostgresqlDatabase(PostgresqlSettings settings, std::string name)
      : settings_(std::move(settings)), name_(std::move(name)) {}

  absl::StatusOr<std::unique_ptr<sql::Connection>> connect() override {
    return PostgresqlConnection::open(settings_);
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] std::string or_update(std::string_view key) const override {
    return concat(" ON CONFLICT (", key, ") DO UPDATE SET");
  }
  [[nodiscard]] std::string inserted(std::string_view column) const override {
    return concat("excluded.", column);
  }
  [[nodiscard]] std::string to_integer(std::string_view expression) const override {
    return concat("CAST(", expression, " AS bigint)");
  }

  // Each transaction forbids what reads whole tables (postgresql_connection.cc).
  [[nodiscard]] std::string join_by_index(std::string_view table,
                                          std::string_view /*index*/) const override {
    return concat(" JOIN ", table);
  }

  [[nodiscard]] std::string delete_by_index(std::string_view table, std::string_view /*index*/,
                                            std::string_view others) const override {
    return concat("DELETE FROM ", table, " USING ", others, " WHERE");
  }

  [[nodiscard]] std::span<const std::vector<std::string>> migrations() const override {
    return postgresql_migrations();
  }
  [[nodiscard]] sql::Statement lock_migrations() const override {
    constexpr std::int64_t kLock = 0x7275736867617465;  // "rushgate"
    return {"SELECT pg_advisory_xact_lock(?1)", {kLock}};
  }
  [[nodiscard]] sql::Statement count_tables(std::string_view table) const override {
    // Not to_regclass(): it may have remembered that there is no such table.
    return {concat("SELECT count(*) FROM pg_tables WHERE tablename = '", table,
                   "' AND schemaname = ANY (current_schemas(false))")};
  }

 private:
  const PostgresqlSettings settings_;
  const std::string name_;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Reads a URL by libpq, whose errors may quote any part of it.
absl::StatusOr<Parameters> parse_by_libpq(const std::string& url) {
  char* error = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &error);
  if (options == nullptr) {
    std::string why = error == nullptr ? "out of memory" : error;
    PQfreemem(error);
    while (!why.empty() && why.back() == '\n') why.pop_back();
    return absl::InvalidArgumentError(why);
  }
  Parameters parameters;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) parameters.emplace_back(option->keyword, option->val);
  }
  PQconninfoFree(options);
  return parameters;
}

std::string value_of(const Parameters& parameters, std::string_view keyword) {
  const auto found = std::ranges::find(parameters, keyword, &Parameters::value_type::first);
  return found == parameters.end() ? "" : found->second;
}

void set(Parameters& parameters, const std::string& keyword, const std::string& value) {
  std::erase_if(parameters, [&](const auto& parameter) { return parameter.first == keyword; });
  parameters.emplace_back(keyword, value);
}

/// Returns the URL without the password.
std::string name_of(const Parameters& parameters) {
  const std::string user = value_of(parameters, "user");
  const std::string port = value_of(parameters, "port");
  return concat("postgresql://", user, user.empty() ? "" : "@", value_of(parameters, "host"),
                port.empty() ? "" : ":", port, "/", value_of(parameters, "dbname"));
}

}  // namespace

absl::StatusOr<sql::DatabaseAt> postgresql_database(std::string_view url) {
  ASSIGN_OR_RETURN(const auto own, sql::take_own_options(url));
  const auto bad_url = [](const absl::Status& why) {
    return absl::InvalidArgumentError(concat("URL of orders: ", why.message()));
  };
  auto parameters = parse_by_libpq(own.rest);
  if (!parameters.ok()) {
    // libpq's message may quote the password.
    const auto shown = parse_by_libpq(sql::without_password(own.rest));
    return bad_url(shown.ok() ? absl::InvalidArgumentError("the password is not percent-encoded")
                              : shown.status());
  }
  if (own.password) set(*parameters, "password", *own.password);
  if (value_of(*parameters, "application_name").empty()) {
    set(*parameters, "application_name", "rushgate");
  }
  PostgresqlSettings settings{.statement_timeout = own.statement_timeout};
  if (own.connect_timeout) settings.connect_timeout = *own.connect_timeout;
  std::string name = name_of(*parameters);
  settings.parameters = *std::move(parameters);
  return sql::DatabaseAt{
      .database = std::make_unique<PostgresqlDatabase>(std::move(settings), std::move(name)),
      .pool = {.connections_max = own.pool_size, .wait_max = own.statement_timeout}};
}

}  // namespace rushgate
