// A Client whose backend is the engine of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/client/client.h"
#include "engine/commands/session.h"
#include "engine/executor/engine.h"
#include "engine/executor/operation.h"

namespace rushgate {

class Executor;

/// Made by Engine::open_client().
class EmbeddedClient final : public Client {
 public:
  EmbeddedClient(std::shared_ptr<Executor> executor, const ClientOptions& options);
  ~EmbeddedClient() override;

  /// Completions run on the service thread, one at a time, in the order in which their requests
  /// were answered. In manual mode they run on the calling thread before the outermost call
  /// returns.
  void submit(Request request, Completion completion) override;
  Reply call(Request request) override;
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  Reply sync() override;
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override;

 private:
  [[nodiscard]] std::int64_t deadline_ms() const;
  [[nodiscard]] std::vector<Reply> pipeline_until_deadline(std::span<const Request> requests);
  [[nodiscard]] Reply in_protocol(Reply reply) const;
  [[nodiscard]] std::vector<Reply> in_protocol(Operation::Replies replies) const;

  const std::shared_ptr<Executor> executor_;
  const ClientOptions options_;
  const std::shared_ptr<Session> session_;  // guarded by the turn
};

}  // namespace rushgate
