// Finds the master of a Redis by its sentinels. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "adapters/redis/line_timer.h"
#include "adapters/redis/redis_exchange.h"
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Asks one sentinel after the other, as
/// redis.io/docs/latest/develop/reference/sentinel-clients requires. Has at most two connections at a
/// time: one for find(), and one that looks for another master every poll_ms. Belongs to the I/O
/// thread.
///
/// Sentinels learn of a failover one after the other. Their answers have a number, the configuration
/// epoch, which each failover increases. So an answer older than the newest one is left out, unless a
/// whole round of sentinels has no newer one: then they were all set up again.
///
/// While no sentinel replies, the last master is named. The caller asks each server whether it is a master.
class MasterFinder {
 public:
  using Found = absl::AnyInvocable<void(absl::StatusOr<RedisAddress>)>;
  using OnMaster = std::function<void(const RedisAddress&)>;

  /// `options` and `tls` are as for RedisWire. `on_master` gets the master of each answer that
  /// counts. It may call find().
  MasterFinder(boost::asio::io_context& io, const RedisOptions& options,
               boost::asio::ssl::context* tls, OnMaster on_master);

  /// Calls `found` later, once, unless close() is called before. Errors:
  /// - kUnavailable: a sentinel does not reply, and no other one knows the master.
  /// - kPermissionDenied: they refuse the user.
  /// - kFailedPrecondition: none of them knows the master.
  void find(Found found);
  /// Makes the next find() begin with another sentinel: the server that it named is not usable.
  void doubt();
  void close();

 private:
  struct Answer {
    RedisAddress master;
    std::int64_t epoch = 0;
    std::vector<RedisAddress> sentinels = {};  // the others that it knows
  };
  using Asked = absl::AnyInvocable<void(absl::StatusOr<Answer>)>;

  [[nodiscard]] std::shared_ptr<RedisExchange> ask(const RedisAddress& sentinel, Asked asked);
  [[nodiscard]] absl::StatusOr<Answer> read_answer(
      const absl::StatusOr<std::vector<Reply>>& replies) const;
  void ask_next();
  void note_failure(const RedisAddress& sentinel, const absl::Status& status);
  void end_without_answer();
  void end_round(absl::StatusOr<RedisAddress> master);
  void accept(const RedisAddress& sentinel, const Answer& answer);
  void poll_later();
  void poll();

  boost::asio::io_context& io_;
  const RedisOptions& options_;
  boost::asio::ssl::context* const tls_;
  const OnMaster on_master_;
  std::vector<RedisAddress> sentinels_;  // the one that answered last is the first
  std::int64_t epoch_ = 0;               // of the last answer that counted
  std::optional<RedisAddress> last_;     // the master of that answer
  bool is_last_doubted_ = false;         // it could not be used

  // ---- The round of find() ----
  std::vector<Found> waiting_;  // empty: there is none
  std::vector<RedisAddress> round_;
  std::size_t asked_ = 0;  // of round_
  absl::Status failure_;
  struct Older {
    RedisAddress sentinel;
    Answer answer;
  };
  std::optional<Older> older_;  // the newest of the answers that were left out
  std::shared_ptr<RedisExchange> asking_;

  // ---- Looking for another master ----
  LineTimer poll_timer_;
  std::size_t polled_ = 0;
  std::shared_ptr<RedisExchange> polling_;
};

}  // namespace rushgate
