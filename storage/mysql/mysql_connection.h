// A connection to a MariaDB, by Connector/C with time-outs.
#pragma once

#include <mysql.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/sql_port.h"

namespace rushgate {

struct MysqlSettings {
  enum class Tls : std::uint8_t { kOff, kRequired, kVerify };

  std::string host = {};
  unsigned port = 0;  // 0: the default
  std::string socket = {};
  std::string user = {};
  std::string password = {};
  std::string database = {};
  Tls tls = Tls::kOff;
  std::string tls_ca = {};
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{10'000};  // of a call of run()
};

/// Sends the statements of a call as one text. A transaction waits for locks, and may be idle, at most for
/// the time-out too, so a process that stops in the middle keeps others waiting no longer.
class MysqlConnection final : public sql::Connection {
 public:
  static absl::StatusOr<std::unique_ptr<sql::Connection>> open(const MysqlSettings& settings);

  absl::StatusOr<std::vector<sql::Rows>> run(std::span<const sql::Statement> statements,
                                             sql::Part part) override;
  void roll_back() override;
  [[nodiscard]] bool is_lost() const override { return is_lost_; }

 private:
  struct Close {
    void operator()(MYSQL* connection) const { mysql_close(connection); }
  };

  explicit MysqlConnection(std::chrono::milliseconds timeout)
      : connection_(mysql_init(nullptr)), timeout_(timeout) {}

  absl::Status connect(const MysqlSettings& settings);
  void set_options(const MysqlSettings& settings);
  /// Sends a text of statements, and returns the rows of each.
  absl::StatusOr<std::vector<sql::Rows>> run_text(const std::string& text);
  absl::StatusOr<sql::Rows> read_rows();
  absl::Status error_after(std::chrono::steady_clock::time_point began);

  const std::unique_ptr<MYSQL, Close> connection_;
  const std::chrono::milliseconds timeout_;
  bool is_lost_ = false;
};

/// Returns the code for an error number of MariaDB or of Connector/C.
absl::StatusCode code_of_mysql_error(unsigned number);

}  // namespace rushgate
