// A client's access to the connections of its backend. Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "adapters/redis/redis_core.h"
#include "adapters/redis/submission.h"
#include <rushgate/client.h>

namespace rushgate {

/// Keeps the order of a client's submissions across connections. Thread-safe.
class RedisSession : public std::enable_shared_from_this<RedisSession> {
 public:
  RedisSession(std::shared_ptr<RedisCore> core, ClientOptions options);

  [[nodiscard]] RedisCore& core() { return *core_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }

  /// Accepts the submission, or returns the error of each of its requests.
  [[nodiscard]] std::optional<Reply> submit(Submission& submission);
  /// Reports that the submission has all its replies.
  void ended(Submission& submission);
  /// Fails submissions that were held back too long. Returns true if any are still held back.
  [[nodiscard]] bool expire(std::int64_t now_ms);
  /// Reports that the blocking command has begun, so later ones may begin.
  void begun(const Submission& submission);
  void unblock();
  /// Ends the blocking commands of a destroyed client.
  void close();

 private:
  using Refused = std::vector<std::pair<Submission*, std::string>>;

  /// While it is set, submissions are held back to keep their order.
  static constexpr std::uint64_t kGated = std::uint64_t{1} << 63;

  void dispatch(Refused& refused);
  void send_shared(Submission& submission, Refused& refused);
  void send_own(Submission& submission, Refused& refused);
  [[nodiscard]] bool acquire_own(Submission& submission);
  void send_leased(Submission& submission, Refused& refused);
  void start_leased(Submission& submission, std::shared_ptr<RedisLine> line, Refused& refused);
  void fail_all(const Refused& refused);
  /// Called once per lease.
  void begin_unblocking(std::shared_ptr<Lease> lease);
  void send_unblock(std::shared_ptr<Lease> lease, std::int64_t pause_ms);
  void retry_unblock(std::shared_ptr<Lease> lease, std::int64_t pause_ms);

  const std::shared_ptr<RedisCore> core_;
  const ClientOptions options_;
  std::atomic<std::uint64_t> state_{0};  // the unfinished on the shared connection, and kGated

  // ---- Guarded by mutex_ ----
  std::mutex mutex_;
  SubmissionList held_;
  bool is_watched_ = false;  // the core calls expire()
  // The submission that holds back later ones. It is a blocking command that may not have begun, or
  // waits for the client's own connection.
  const Submission* fence_ = nullptr;
  std::shared_ptr<RedisLine> own_;              // null: not needed
  bool in_transaction_ = false;                 // on own_: after MULTI
  std::vector<std::shared_ptr<Lease>> leases_;  // of unfinished submissions
  bool is_closed_ = false;
};

/// Returns the route of a submission with these requests.
Route route_of(std::span<const Request> requests);

/// A Client of a RedisBackend.
class RedisClient final : public Client {
 public:
  explicit RedisClient(std::shared_ptr<RedisSession> session);
  ~RedisClient() override;

  void submit(Request request, Completion completion) override;
  void submit_late(LateRequest& request) override;
  Reply call(Request request) override;
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  void unblock() override;
  Reply sync() override;
  [[nodiscard]] bool inside_callback() const override;

 private:
  [[nodiscard]] Reply refusal(const Request& request) const;
  [[nodiscard]] std::vector<Reply> exchange(std::span<const Request> requests);

  const std::shared_ptr<RedisSession> session_;
};

}  // namespace rushgate
