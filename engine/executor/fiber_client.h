// A Client for Boost.Fiber: who calls it parks his fiber, not his thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/client/client.h"
#include "engine/executor/engine.h"

namespace rushgate {

class EmbeddedClient;
class Executor;

/// Waits by suspending the calling fiber; other fibers of the thread run meanwhile. Commands never
/// run on a fiber's stack: the service thread runs them. Thread-safe; to be called from fibers only
/// (a plain thread has a main fiber and may call it too). Called from a completion or a timer of
/// its engine it waits as an ordinary client does there (engine.h).
///
/// Two waits hold up the whole thread: sync(), for an fsync, and a submission while the queue is
/// full, for room (which ClientOptions can bound).
class FiberClient final : public Client {
 public:
  explicit FiberClient(Engine& engine, const ClientOptions& options = {});
  ~FiberClient() override;

  void submit(Request request, Completion completion) override;
  Reply call(Request request) override;
  std::vector<Reply> pipeline(std::span<const Request> requests) override;
  void unblock() override;
  Reply sync() override;
  void add_native_scripts(std::span<const NamedScript> scripts) override;
  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override;

 private:
  /// Whether the calling thread is the one that would wake the fiber.
  [[nodiscard]] bool cannot_park() const;

  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<EmbeddedClient> client_;  // whose completions wake the fibers
};

}  // namespace rushgate
