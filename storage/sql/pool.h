// The connections of a store, and the transactions on them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sql/sql_port.h"

namespace rushgate::sql {

/// A transaction. It begins with its first statements. Not thread-safe.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Runs statements. Errors are those of Connection::run().
  absl::StatusOr<std::vector<Rows>> run(std::span<const Statement> statements);
  absl::StatusOr<Rows> run(Statement statement);
  /// Runs the last statements, and commits. Nothing may follow.
  absl::Status commit(std::span<const Statement> statements = {});

  /// Returns true if COMMIT was sent.
  [[nodiscard]] bool is_committing() const { return is_committing_; }

 private:
  Connection& connection_;
  bool has_begun_ = false;
  bool is_committing_ = false;
  bool is_committed_ = false;
};

struct PoolOptions {
  std::size_t connections_max = 4;
  std::chrono::milliseconds wait_max{10'000};  // for a free connection
};

/// A database that a URL names, and how it is used.
struct DatabaseAt {
  std::unique_ptr<Database> database;
  PoolOptions pool = {};
};

/// Lends connections, and replaces lost ones. Thread-safe.
class Pool {
 public:
  explicit Pool(DatabaseAt at) : database_(std::move(at.database)), options_(at.pool) {}

  [[nodiscard]] const Database& database() const { return *database_; }
  /// Returns DatabaseState's session: raised whenever a connection was lost. From 1.
  [[nodiscard]] std::int64_t session() {
    const std::lock_guard lock(mutex_);
    return session_;
  }

  // Errors of the calls below have `doing` and the name of the database in front. They are those of
  // Connection::run(), except that the schema is as wanted: kNotFound and kAlreadyExists become kInternal.
  // A transaction that was aborted, or whose connection was lost before its end, is run again.

  /// Runs a query, outside of a transaction.
  absl::StatusOr<Rows> read(const char* doing, Statement query);

  /// Runs body(transaction), which returns a Status or StatusOr, and commits if it is OK and has not
  /// committed. Its own errors, by failed(), are returned as they are. May run it again, so it must begin
  /// from nothing.
  template <class Body>
  std::invoke_result_t<Body, Transaction&> transact(const char* doing, Body body) {
    using Result = std::invoke_result_t<Body, Transaction&>;
    std::optional<Result> result;
    const absl::Status done = run_transaction(doing, [&](Transaction& transaction) -> absl::Status {
      result.emplace(body(transaction));
      return status_of(*result);
    });
    if (!done.ok()) return done;
    return *std::move(result);
  }

 private:
  class Lease;
  using RunBody = absl::FunctionRef<absl::Status(Transaction&)>;

  static const absl::Status& status_of(const absl::Status& status) { return status; }
  template <class T>
  static const absl::Status& status_of(const absl::StatusOr<T>& result) {
    return result.status();
  }

  absl::Status run_transaction(const char* doing, RunBody body);
  /// Returns a connection, and whether it was idle: the server may have closed it since.
  absl::StatusOr<std::pair<std::unique_ptr<Connection>, bool>> take();
  void give_back(std::unique_ptr<Connection> connection);
  [[nodiscard]] absl::Status describe(const char* doing, const absl::Status& error) const;

  const std::unique_ptr<Database> database_;
  const PoolOptions options_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable is_free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t lent_ = 0;
  std::int64_t session_ = 1;
};

/// Returns an error that a transaction's body returns for a reason of its own, such as a stale batch. It is
/// neither described nor retried.
absl::Status decided(absl::Status error);

}  // namespace rushgate::sql
