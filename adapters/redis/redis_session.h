// A client's access to the connections to one server. Private to this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/redis/redis_client.h"
#include "adapters/redis/redis_core.h"
#include "adapters/redis/submission.h"
#include <rushgate/client.h>

namespace rushgate {

/// Keeps the order of a client's submissions across connections. Thread-safe.
class RedisSession final : public ClientSession, public std::enable_shared_from_this<RedisSession> {
 public:
  RedisSession(std::shared_ptr<RedisCore> core, ClientOptions options);

  [[nodiscard]] RedisRuntime& runtime() override { return core_->runtime(); }
  [[nodiscard]] const ClientOptions& options() const override { return options_; }
  [[nodiscard]] std::optional<Reply> submit(Submission& submission) override;
  void unblock() override;
  void close() override;
  [[nodiscard]] absl::StatusOr<std::vector<std::vector<Request>>> replica_waits(
      const ReplicaWait& wait, std::optional<std::string_view> key) override;

  /// Reports that the submission has all its replies.
  void ended(Submission& submission);
  /// Fails submissions that were held back too long. Returns true if any are still held back.
  [[nodiscard]] bool expire(std::int64_t now_ms);
  /// Reports that the blocking command has begun, so later ones may begin.
  void begun(const Submission& submission);

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

}  // namespace rushgate
