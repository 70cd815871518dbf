// A Backend over an engine in this process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "adapters/resp/resp_encoder.h"
#include "tests/conformance/backend.h"
#include <rushgate/engine.h>
#include <rushgate/store.h>

namespace rushgate::testing {

/// Uses manual mode, so that time passes only on request of a transcript.
class EmbeddedBackend final : public Backend {
 public:
  /// Opens the engine's store: a new empty one, or the previous one again. The previous store is
  /// closed by then.
  using OpenStore = std::function<std::unique_ptr<Store>(bool is_empty)>;

  /// Keeps the data in memory, and cannot be reopened.
  explicit EmbeddedBackend(RespVersion protocol) : EmbeddedBackend(protocol, nullptr) {}
  EmbeddedBackend(RespVersion protocol, OpenStore open_store)
      : protocol_(protocol), open_store_(std::move(open_store)) {
    reset();
  }

  [[nodiscard]] std::string name() const override { return "embedded"; }
  void reset() override;
  void reopen() override;
  void send(int session, const Request& request) override;
  std::string receive(int session) override;
  bool has_answer(int session) override { return !sessions_[session].answers.empty(); }
  void elapse(std::chrono::milliseconds duration) override {
    engine_->advance_ms(duration.count());
  }

 private:
  struct Session {
    std::unique_ptr<Client> client;
    RespVersion protocol = RespVersion::k2;
    std::deque<std::string> answers;  // raw
  };

  void open(std::unique_ptr<Store> store);

  const RespVersion protocol_;
  const OpenStore open_store_;  // null: in memory
  ManualClock clock_;
  std::map<int, Session> sessions_;  // before engine_, whose destruction completes blocked commands
  std::unique_ptr<Engine> engine_;
};

}  // namespace rushgate::testing
