// A Backend on an engine of this process.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "adapters/resp/resp_encoder.h"
#include "engine/executor/engine.h"
#include "tests/conformance/backend.h"

namespace rushgate::testing {

/// In manual mode: time passes when a transcript says so.
class EmbeddedBackend final : public Backend {
 public:
  explicit EmbeddedBackend(RespVersion protocol) : protocol_(protocol) { reset(); }

  [[nodiscard]] std::string name() const override { return "embedded"; }
  void reset() override;
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

  const RespVersion protocol_;
  ManualClock clock_;
  std::map<int, Session> sessions_;  // before engine_, which when it goes answers whoever is parked
  std::unique_ptr<Engine> engine_;
};

}  // namespace rushgate::testing
