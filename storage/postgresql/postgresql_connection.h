// A connection to a PostgreSQL, by libpq without blocking: every call has a deadline.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/sql_port.h"

namespace rushgate {

struct PostgresqlSettings {
  std::vector<std::pair<std::string, std::string>> parameters = {};  // keywords and values of libpq
  std::chrono::milliseconds connect_timeout{5'000};                  // to each host
  std::chrono::milliseconds statement_timeout{10'000};               // of a call of run()
};

/// Sends the statements of a call as one pipeline. A transaction waits for locks, and may be idle, at most
/// for the time-out too, so a process that stops in the middle keeps others waiting no longer.
class PostgresqlConnection final : public sql::Connection {
 public:
  /// Connects to the first host of a list that accepts it. kUnavailable: none does.
  static absl::StatusOr<std::unique_ptr<sql::Connection>> open(const PostgresqlSettings& settings);

  absl::StatusOr<std::vector<sql::Rows>> run(std::span<const sql::Statement> statements,
                                             sql::Part part) override;
  void roll_back() override;
  [[nodiscard]] bool is_lost() const override { return is_lost_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, Clear>;

  PostgresqlConnection(PGconn* connection, std::chrono::milliseconds timeout);
  static absl::StatusOr<std::unique_ptr<sql::Connection>> open_one(
      const std::vector<std::pair<std::string, std::string>>& parameters,
      const PostgresqlSettings& settings);

  absl::Status connect(Deadline deadline);
  absl::Status send(const sql::Statement& statement);
  absl::Status send_all(std::span<const sql::Statement> statements, sql::Part part,
                        Deadline deadline);
  absl::Status flush(Deadline deadline);
  absl::StatusOr<Result> next_result(Deadline deadline);
  absl::StatusOr<sql::Rows> read_rows(Deadline deadline);
  absl::Status read_end(Deadline deadline);
  absl::Status check_server(std::int64_t started_us);
  /// Waits until the socket is ready. `events` are poll()'s.
  absl::Status wait(short events, Deadline deadline);
  absl::Status lost(absl::Status error);
  absl::Status lost();

  const std::unique_ptr<PGconn, Finish> connection_;
  const std::chrono::milliseconds timeout_;
  std::optional<std::int64_t> server_started_us_;  // since 1970 UTC; empty: not known yet
  bool is_lost_ = false;
};

}  // namespace rushgate
