// An engine for a test: its clock moves by hand, no thread runs, the same calls give the same
// answers. Start here to test with Rushgate; docs/testing-with-rushgate.md has examples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "adapters/testing/faulty_store.h"
#include "engine/client/client.h"
#include "engine/client/native_script.h"
#include "engine/executor/engine.h"
#include "engine/store/store.h"
#include "engine/time/manual_clock.h"
#include "storage/memory/memory_store.h"

namespace rushgate::testing {

struct TestEngineOptions {
  std::int64_t now_ms = ManualClock::kStartMs;  // the time of day at which the clock begins
  EngineOptions engine = {};                    // but for its clock
  ClientOptions client = {};                    // of client()
  std::vector<NamedScript> native_scripts = {};
  /// Opens what the engine stands on: at the beginning, and at each restart. Empty: memory, from
  /// which a restart gets back all that was answered.
  std::function<absl::StatusOr<std::unique_ptr<Store>>()> open_store = {};
};

/// The answer to a command that may wait, as BLPOP does.
class PendingReply {
 public:
  [[nodiscard]] bool is_answered() const { return reply_->has_value(); }
  /// Throws std::bad_optional_access if there is none yet.
  [[nodiscard]] const Reply& reply() const { return reply_->value(); }

 private:
  friend class TestEngine;
  std::shared_ptr<std::optional<Reply>> reply_ = std::make_shared<std::optional<Reply>>();
};

/// An engine in manual mode, its clock, its store and a client. For one thread. Whatever cannot be
/// opened is thrown as std::runtime_error.
class TestEngine {
 public:
  explicit TestEngine(TestEngineOptions options = {});
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  /// call("SET", "stock:1", 10). A command that would wait (BLPOP) is answered as if its time were
  /// up: nobody else could serve it meanwhile.
  template <class... Args>
  Reply call(const Args&... args) {
    return client().call(Request::of(args...));
  }

  /// The same, without waiting: other calls and advance_ms() may bring the answer.
  template <class... Args>
  PendingReply start(const Args&... args) {
    PendingReply pending;
    client().submit(Request::of(args...),
                    [answer = pending.reply_](Reply reply) { *answer = std::move(reply); });
    return pending;
  }

  /// EVAL of a Lua script.
  Reply eval(std::string_view script, const std::vector<std::string>& keys = {},
             const std::vector<std::string>& arguments = {});

  /// The time of day, ms since 1970.
  [[nodiscard]] std::int64_t now_ms() const { return clock_.now_ms(); }
  /// Moves the clock on. What is due on the way happens, each at its time: expiry, timeouts of
  /// commands that wait, timers.
  void advance_ms(std::int64_t duration_ms) { engine().advance_ms(duration_ms); }

  /// Ends the engine as its process would end, and opens another on what the store has kept. The
  /// clock goes on. Other clients are answered CLOSED from then on; cached scripts, timers and
  /// faults that were to come are gone. client(), engine() and store() give new objects; a
  /// RespServer on the old engine has to be stopped before. If nothing can be opened, that is
  /// thrown, and again by whatever needs an engine, until a restart that can.
  void restart();

  [[nodiscard]] Client& client() { return *opened(client_); }
  [[nodiscard]] Engine& engine() { return *opened(engine_); }
  /// For setting the time of day, as somebody sets a machine's clock. advance_ms() of the clock
  /// alone would fire nothing.
  [[nodiscard]] ManualClock& clock() { return clock_; }
  /// To have commits fail: store().fail_commit(1, …), then restart().
  [[nodiscard]] faults::FaultyStore& store() {
    static_cast<void>(opened(engine_));
    return *store_;
  }

 private:
  void open();
  template <class T>
  static const std::unique_ptr<T>& opened(const std::unique_ptr<T>& part) {
    if (part == nullptr) throw std::runtime_error("the engine could not be opened again");
    return part;
  }
  [[nodiscard]] std::unique_ptr<faults::FaultyStore> open_store();

  const TestEngineOptions options_;
  ManualClock clock_;
  MemoryStore memory_{{.keep_state = true}};  // unless options_.open_store
  std::unique_ptr<Engine> engine_;
  faults::FaultyStore* store_ = nullptr;  // the engine's
  std::unique_ptr<Client> client_;
};

}  // namespace rushgate::testing
