// The Client of the embedded engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "engine/redis/commands/session.h"
#include "engine/redis/executor/operation.h"
#include <rushgate/client.h>

namespace rushgate {

class Executor;

/// Created by Engine::open_client().
class EmbeddedClient final : public Client {
 public:
  EmbeddedClient(std::shared_ptr<Executor> executor, const ClientOptions& options);
  ~EmbeddedClient() override;

  /// Completions run on the service thread, one at a time, in the order of their
  /// replies. In manual mode they run on the calling thread before the outermost call
  /// returns.
  void submit(Request request, Completion completion) override;
  Reply call(Request request) override;
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  void unblock() override;
  Reply sync() override;
  [[nodiscard]] bool inside_callback() const override;
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override;

 private:
  using PipelineCompletion = absl::AnyInvocable<void(std::vector<Reply>)>;

  [[nodiscard]] std::int64_t deadline_ms() const;
  /// Returns an operation that may outlive this client.
  [[nodiscard]] std::unique_ptr<Operation> new_operation() const;
  void post(std::unique_ptr<Operation> operation);
  /// Submits a pipeline: one submission, and one completion with all replies in the order of the
  /// requests. `requests` must not change until then.
  void submit_all(std::span<const Request> requests, PipelineCompletion completion);
  /// Returns true if callers wait as ClientOptions::wait defines. Callbacks do not: the completion
  /// that would resume the caller could not run.
  [[nodiscard]] bool suspends_callers() const;
  [[nodiscard]] std::vector<Reply> pipeline_suspended(std::span<const Request> requests);
  [[nodiscard]] std::vector<Reply> pipeline_until_deadline(std::span<const Request> requests);

  const std::shared_ptr<Executor> executor_;
  const ClientOptions options_;
  const std::shared_ptr<Session> session_;  // guarded by the turn
  std::unique_ptr<Operation> session_end_;  // created early, so that the destructor needs no memory
};

}  // namespace rushgate
