#include "storage/sql/pool.h"

#include <optional>

#include "absl/strings/cord.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"

namespace rushgate::sql {
namespace {

// A deadlock is broken in favour of somebody, so few runs are lost to it.
constexpr int kRunsMax = 8;

constexpr char kDecided[] = "rushgate.decided";

}  // namespace

absl::Status decided(absl::Status error) {
  error.SetPayload(kDecided, absl::Cord());
  return error;
}

// ---- Transactions -----------------------------------------------------------------------------

Transaction::~Transaction() {
  if (has_begun_ && !is_committed_ && !connection_.is_lost()) connection_.roll_back();
}

absl::StatusOr<std::vector<Rows>> Transaction::run(std::span<const Statement> statements) {
  const Part part = std::exchange(has_begun_, true) ? Part::kNext : Part::kFirst;
  return connection_.run(statements, part);
}

absl::StatusOr<Rows> Transaction::run(Statement statement) {
  ASSIGN_OR_RETURN(auto results, run(std::span(&statement, 1)));
  return std::move(results.front());
}

absl::Status Transaction::commit(std::span<const Statement> statements) {
  const Part part = std::exchange(has_begun_, true) ? Part::kLast : Part::kWhole;
  is_committing_ = true;
  RETURN_IF_ERROR(connection_.run(statements, part).status());
  is_committed_ = true;
  return absl::OkStatus();
}

// ---- The pool ---------------------------------------------------------------------------------

/// A connection that is given back at the end.
class Pool::Lease {
 public:
  static absl::StatusOr<Lease> take(Pool& pool) {
    ASSIGN_OR_RETURN(auto taken, pool.take());
    return Lease(pool, std::move(taken.first), taken.second);
  }
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (connection_) pool_.give_back(std::move(connection_));
  }

  [[nodiscard]] Connection& operator*() const { return *connection_; }
  [[nodiscard]] Connection* operator->() const { return connection_.get(); }
  /// Returns true if the server had closed the connection before it was taken, as far as one can tell.
  [[nodiscard]] bool was_stale(const absl::Status& error) const {
    return was_idle_ && connection_->is_lost() && !absl::IsDeadlineExceeded(error);
  }

 private:
  Lease(Pool& pool, std::unique_ptr<Connection> connection, bool was_idle)
      : pool_(pool), connection_(std::move(connection)), was_idle_(was_idle) {}

  Pool& pool_;
  std::unique_ptr<Connection> connection_;
  const bool was_idle_;
};

absl::StatusOr<std::pair<std::unique_ptr<Connection>, bool>> Pool::take() {
  {
    std::unique_lock lock(mutex_);
    const bool is_there = is_free_.wait_for(lock, options_.wait_max,
                                            [this] { return lent_ < options_.connections_max; });
    if (!is_there) {
      return absl::UnavailableError(concat("all ", options_.connections_max,
                                           " connections of the pool have been busy for ",
                                           options_.wait_max.count(), " ms"));
    }
    ++lent_;
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return std::pair(std::move(connection), true);
    }
  }
  auto connected = database_->connect();
  if (!connected.ok()) {
    give_back(nullptr);
    return connected.status();
  }
  return std::pair(*std::move(connected), false);
}

// When a connection is lost, so are those that were idle meanwhile: the server has ended.
void Pool::give_back(std::unique_ptr<Connection> connection) {
  std::vector<std::unique_ptr<Connection>> closed;
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (connection && !connection->is_lost()) {
      idle_.push_back(std::move(connection));
    } else {
      if (connection) ++session_;
      closed.swap(idle_);
    }
  }
  is_free_.notify_one();
}

absl::Status Pool::describe(const char* doing, const absl::Status& error) const {
  if (error.GetPayload(kDecided)) return absl::Status(error.code(), error.message());
  absl::StatusCode code = error.code();
  if (code == absl::StatusCode::kAborted || code == absl::StatusCode::kDeadlineExceeded) {
    code = absl::StatusCode::kUnavailable;
  }
  std::string message = concat(doing, " ", database_->name(), ": ", error.message());
  if (code == absl::StatusCode::kNotFound || code == absl::StatusCode::kAlreadyExists) {
    code = absl::StatusCode::kInternal;
    message += " (somebody changed the schema)";
  }
  return absl::Status(code, message);
}

absl::StatusOr<Rows> Pool::read(const char* doing, Statement query) {
  absl::Status error;
  for (int run = 0; run < 2; ++run) {
    auto lease = Lease::take(*this);
    if (!lease.ok()) return describe(doing, lease.status());
    auto results = (*lease)->run(std::span(&query, 1), Part::kAlone);
    if (results.ok()) return std::move(results->front());
    error = results.status();
    if (!lease->was_stale(error) && !absl::IsAborted(error)) break;
  }
  return describe(doing, error);
}

absl::Status Pool::run_transaction(const char* doing, RunBody body) {
  absl::Status error;
  for (int run = 0; run < kRunsMax; ++run) {
    auto lease = Lease::take(*this);
    if (!lease.ok()) return describe(doing, lease.status());
    Transaction transaction(**lease);
    error = body(transaction);
    if (error.ok() && !transaction.is_committing()) error = transaction.commit();
    if (error.ok()) return error;
    if ((*lease)->is_lost() && transaction.is_committing()) {
      return describe(doing, absl::UnavailableError(concat(
                                 error.message(), " (it may have been committed nevertheless)")));
    }
    const bool runs_again = lease->was_stale(error) || absl::IsAborted(error);
    if (!runs_again || error.GetPayload(kDecided)) break;
  }
  return describe(doing, error);
}

}  // namespace rushgate::sql
