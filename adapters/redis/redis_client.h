// The clients of a RedisBackend, and the port for what they do with its connections. Private to this
// module.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/redis/redis_runtime.h"
#include "adapters/redis/replica_wait.h"
#include "adapters/redis/submission.h"
#include <rushgate/client.h>

namespace rushgate {

/// Sends the submissions of one client. Thread-safe.
class ClientSession {
 public:
  virtual ~ClientSession() = default;

  [[nodiscard]] virtual RedisRuntime& runtime() = 0;
  [[nodiscard]] virtual const ClientOptions& options() const = 0;

  /// Accepts the submission, or returns the error of each of its requests.
  [[nodiscard]] virtual std::optional<Reply> submit(Submission& submission) = 0;
  /// Ends the blocking commands that have begun.
  virtual void unblock() = 0;
  /// Ends the blocking commands of a destroyed client.
  virtual void close() = 0;
  /// Returns for each server the requests of one submission that waits for its replicas. `key`: for the
  /// server of this key alone. kUnavailable: no server is known whose replicas could be waited for.
  [[nodiscard]] virtual absl::StatusOr<std::vector<std::vector<Request>>> replica_waits(
      const ReplicaWait& wait, std::optional<std::string_view> key) = 0;
};

/// Returns the route of a submission with these requests.
Route route_of(std::span<const Request> requests);

/// A Client of a RedisBackend.
class RedisClient final : public Client {
 public:
  explicit RedisClient(std::shared_ptr<ClientSession> session);
  ~RedisClient() override;

  void submit(Request request, Completion completion) override;
  void submit_late(LateRequest& request) override;
  Reply call(Request request) override;
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  void unblock() override;
  Reply sync() override { return wait_for_replicas(std::nullopt); }
  Reply sync_of(std::string_view key) override { return wait_for_replicas(key); }
  [[nodiscard]] bool inside_callback() const override;

 private:
  [[nodiscard]] Reply wait_for_replicas(std::optional<std::string_view> key);
  [[nodiscard]] Reply refusal(const Request& request) const;
  [[nodiscard]] std::vector<Reply> exchange(std::span<const Request> requests);

  const std::shared_ptr<ClientSession> session_;
};

}  // namespace rushgate
