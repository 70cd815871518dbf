#include "storage/postgresql/postgresql_connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_split.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/postgresql/postgresql_status.h"
#include "storage/postgresql/postgresql_values.h"

namespace rushgate {
namespace {

using std::chrono::steady_clock;

/// Returns libpq's message in one line.
std::string message_of(const PGconn* connection) {
  std::string message = PQerrorMessage(connection);
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message.empty() ? "the connection was closed" : message;
}

/// Sets the time-outs of this transaction, and no others: a connection of pgbouncer is shared. The shortest
/// one has the most telling message. A commit must be on the disk, whatever the database's default
/// is. While a sale fills its tables, their statistics are old, so plans that read whole tables are
/// forbidden where an index will do. The first column says which server it is, by its start: that
/// of a pgbouncer's connection may change.
sql::Statement settings_of_transaction(std::chrono::milliseconds timeout) {
  const auto ms = [](std::chrono::milliseconds time) {
    return concat("'", std::max<std::int64_t>(time.count(), 1), "'");
  };
  return {
      concat("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, "
             "set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', "
             "'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', "
             "true), set_config('statement_timeout', ",
             ms(timeout), ", true), set_config('lock_timeout', ", ms(timeout * 3 / 4),
             ", true), set_config('idle_in_transaction_session_timeout', ", ms(timeout),
             ", true), set_config('synchronous_commit', CASE WHEN "
             "current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE "
             "current_setting('synchronous_commit') END, true)")};
}

using PqParameters = std::vector<std::pair<std::string, std::string>>;

/// Returns the parameters of each host in a list. libpq tries the next host itself, but would wait for one that
/// hangs until the time for all of them has passed. (It chooses among all of them if one only prefers a standby.)
std::vector<PqParameters> for_each_host(const PqParameters& parameters) {
  std::size_t hosts = 1;
  for (const auto& [keyword, value] : parameters) {
    if (keyword == "target_session_attrs" && value == "prefer-standby") return {parameters};
    const bool lists_hosts = keyword == "host" || keyword == "hostaddr";
    const auto commas = static_cast<std::size_t>(std::ranges::count(value, ','));
    if (lists_hosts) hosts = std::max(hosts, 1 + commas);
  }
  if (hosts == 1) return {parameters};
  std::vector<PqParameters> each(hosts);
  for (const auto& [keyword, value] : parameters) {
    const bool is_list = keyword == "host" || keyword == "hostaddr" || keyword == "port";
    const std::vector<std::string> parts =
        is_list ? absl::StrSplit(value, ',') : std::vector<std::string>{value};
    for (std::size_t i = 0; i < hosts; ++i) {
      each[i].emplace_back(keyword, parts[parts.size() == hosts ? i : 0]);
    }
  }
  return each;
}

/// Returns when a call gives up: later than the server does.
steady_clock::time_point deadline_of(std::chrono::milliseconds timeout) {
  return steady_clock::now() + timeout + timeout / 10 + std::chrono::milliseconds(100);
}

}  // namespace

// ---- Connecting -------------------------------------------------------------------------------

PostgresqlConnection::PostgresqlConnection(PGconn* connection, std::chrono::milliseconds timeout)
    : connection_(connection), timeout_(timeout) {}

absl::StatusOr<std::unique_ptr<sql::Connection>> PostgresqlConnection::open(
    const PostgresqlSettings& settings) {
  std::string why;
  for (const PqParameters& host : for_each_host(settings.parameters)) {
    auto opened = open_one(host, settings);
    if (opened.ok()) return opened;
    why += concat(why.empty() ? "" : "; ", opened.status().message());
  }
  return absl::UnavailableError(why);
}

absl::StatusOr<std::unique_ptr<sql::Connection>> PostgresqlConnection::open_one(
    const PqParameters& parameters, const PostgresqlSettings& settings) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  std::unique_ptr<PostgresqlConnection> connection(new PostgresqlConnection(
      PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/0),
      settings.statement_timeout));
  if (connection->connection_ == nullptr) return absl::UnavailableError("out of memory");
  RETURN_IF_ERROR(connection->connect(steady_clock::now() + settings.connect_timeout));
  return connection;
}

absl::Status PostgresqlConnection::connect(Deadline deadline) {
  PGconn* const connection = connection_.get();
  for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
       state = PQconnectPoll(connection)) {
    if (state == PGRES_POLLING_FAILED || PQstatus(connection) == CONNECTION_BAD) return lost();
    RETURN_IF_ERROR(wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline));
  }
  const bool is_ready =
      PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1;
  return is_ready ? absl::OkStatus() : lost();
}

// ---- Statements -------------------------------------------------------------------------------

absl::StatusOr<std::vector<sql::Rows>> PostgresqlConnection::run(
    std::span<const sql::Statement> statements, sql::Part part) {
  if (is_lost_) return absl::UnavailableError("the connection is lost");
  const Deadline deadline = deadline_of(timeout_);
  RETURN_IF_ERROR(send_all(statements, part, deadline));

  const bool has_settings = part == sql::Part::kAlone || begins(part);
  const int before = (begins(part) ? 1 : 0) + (has_settings ? 1 : 0);
  const int after = commits(part) ? 1 : 0;
  const int count = before + static_cast<int>(statements.size()) + after;
  std::vector<sql::Rows> results;
  results.reserve(statements.size());
  absl::Status error;
  for (int i = 0; i < count; ++i) {
    auto rows = read_rows(deadline);
    if (is_lost_) return rows.status();
    if (!rows.ok()) error.Update(rows.status());  // the first one
    const bool are_settings = has_settings && i == before - 1;
    if (error.ok() && are_settings) RETURN_IF_ERROR(check_server(rows->front().integer(0)));
    const bool is_asked = i >= before && i < count - after;
    if (error.ok() && is_asked) results.push_back(*std::move(rows));
  }
  RETURN_IF_ERROR(read_end(deadline));
  if (!error.ok()) return error;
  return results;
}

/// A server that took over behind a proxy may have lost commits, so its session is another one (DatabaseState).
absl::Status PostgresqlConnection::check_server(std::int64_t started_us) {
  const auto before = std::exchange(server_started_us_, started_us);
  if (!before || *before == started_us) return absl::OkStatus();
  return lost(absl::UnavailableError("another server replies than before, or it was restarted"));
}

void PostgresqlConnection::roll_back() {
  static const sql::Statement kRollBack{"ROLLBACK"};
  const Deadline deadline = deadline_of(timeout_);
  const auto rolled_back = [&]() -> absl::Status {
    RETURN_IF_ERROR(send(kRollBack));
    if (PQpipelineSync(connection_.get()) != 1) return lost();
    RETURN_IF_ERROR(flush(deadline));
    RETURN_IF_ERROR(read_rows(deadline).status());
    return read_end(deadline);
  }();
  is_lost_ = is_lost_ || !rolled_back.ok();
}

absl::Status PostgresqlConnection::send_all(std::span<const sql::Statement> statements,
                                            sql::Part part, Deadline deadline) {
  static const sql::Statement kBegin{"BEGIN ISOLATION LEVEL READ COMMITTED"};
  static const sql::Statement kCommit{"COMMIT"};
  if (begins(part)) RETURN_IF_ERROR(send(kBegin));
  if (begins(part) || part == sql::Part::kAlone) {
    RETURN_IF_ERROR(send(settings_of_transaction(timeout_)));
  }
  for (const sql::Statement& statement : statements) RETURN_IF_ERROR(send(statement));
  if (commits(part)) RETURN_IF_ERROR(send(kCommit));
  if (PQpipelineSync(connection_.get()) != 1) return lost();
  return flush(deadline);
}

absl::Status PostgresqlConnection::send(const sql::Statement& statement) {
  PostgresqlParameters parameters;
  const std::string text = sql::with_parameters(statement, parameters);
  constexpr int kBinary = 1;
  const int sent =
      PQsendQueryParams(connection_.get(), text.c_str(), parameters.count(), parameters.types(),
                        parameters.values(), parameters.lengths(), parameters.formats(), kBinary);
  return sent == 1 ? absl::OkStatus() : lost();
}

// The server may send replies, and wait until they are read, before it has read everything.
absl::Status PostgresqlConnection::flush(Deadline deadline) {
  while (true) {
    const int left = PQflush(connection_.get());
    if (left == 0) return absl::OkStatus();
    if (left < 0) return lost();
    RETURN_IF_ERROR(wait(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(connection_.get()) != 1) return lost();
  }
}

absl::StatusOr<PostgresqlConnection::Result> PostgresqlConnection::next_result(Deadline deadline) {
  while (PQisBusy(connection_.get()) == 1) {
    RETURN_IF_ERROR(wait(POLLIN, deadline));
    if (PQconsumeInput(connection_.get()) != 1) return lost();
  }
  return Result(PQgetResult(connection_.get()));
}

/// Reads the result of one statement, and the null pointer behind it.
absl::StatusOr<sql::Rows> PostgresqlConnection::read_rows(Deadline deadline) {
  ASSIGN_OR_RETURN(const Result result, next_result(deadline));
  if (result == nullptr) return lost();
  ASSIGN_OR_RETURN(const Result end, next_result(deadline));
  if (end != nullptr)
    return lost(absl::InternalError("libpq returned more results than asked for"));
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
      return postgresql_rows(*result);
    case PGRES_COMMAND_OK:
      return sql::Rows();
    case PGRES_PIPELINE_ABORTED:
      return absl::InternalError("not run: an earlier statement failed");
    default:
      break;
  }
  absl::Status error = postgresql_error(*result);
  if (PQstatus(connection_.get()) == CONNECTION_BAD || ends_session(*result)) return lost(error);
  return error;
}

absl::Status PostgresqlConnection::read_end(Deadline deadline) {
  ASSIGN_OR_RETURN(const Result result, next_result(deadline));
  const bool is_end = result != nullptr && PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC;
  return is_end ? absl::OkStatus() : lost();
}

absl::Status PostgresqlConnection::wait(short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) {
      return lost(absl::DeadlineExceededError("the server did not reply in time"));
    }
    pollfd socket{.fd = PQsocket(connection_.get()), .events = events, .revents = 0};
    const int ready = ::poll(&socket, 1, static_cast<int>(left.count()));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) {
      return lost(absl::UnavailableError(std::generic_category().message(errno)));
    }
  }
}

absl::Status PostgresqlConnection::lost(absl::Status error) {
  is_lost_ = true;
  return error;
}

absl::Status PostgresqlConnection::lost() {
  return lost(absl::UnavailableError(message_of(connection_.get())));
}

}  // namespace rushgate
