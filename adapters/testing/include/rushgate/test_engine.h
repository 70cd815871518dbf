// An engine for tests: its clock moves on request, it has no threads, and equal calls give equal
// results. Start here to test with Rushgate. docs/testing-with-rushgate.md has examples.
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
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/script.h>
#include <rushgate/store.h>
#include <rushgate/testing_stores.h>

namespace rushgate::testing {

struct TestEngineOptions {
  std::int64_t now_ms = ManualClock::kStartMs;  // the initial time of day
  EngineOptions engine = {};                    // its clock is ignored
  ClientOptions client = {};                    // of client()
  std::vector<NamedScript> native_scripts = {};
  /// Opens the engine's store, at the start and at each restart. Empty: in memory, and a restart
  /// keeps all acknowledged writes.
  std::function<absl::StatusOr<std::unique_ptr<Store>>()> open_store = {};
};

/// The reply to a command that may block, such as BLPOP.
class PendingReply {
 public:
  [[nodiscard]] bool has_reply() const { return reply_->has_value(); }
  /// Returns the reply. Throws std::bad_optional_access if there is none yet.
  [[nodiscard]] const Reply& reply() const { return reply_->value(); }

 private:
  friend class TestEngine;
  std::shared_ptr<std::optional<Reply>> reply_ = std::make_shared<std::optional<Reply>>();
};

/// An engine in manual mode, with its clock, its store and a client. Not thread-safe. Throws
/// std::runtime_error if it cannot be opened.
class TestEngine {
 public:
  explicit TestEngine(TestEngineOptions options = {});
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  /// Runs a command: call("SET", "stock:1", 10). A blocking command (BLPOP) times out at once,
  /// because no other client could serve it.
  template <class... Args>
  Reply call(const Args&... args) {
    return client().call(Request::of(args...));
  }

  /// Like call(), but does not wait: a later call or advance_ms() may complete the reply.
  template <class... Args>
  PendingReply start(const Args&... args) {
    PendingReply pending;
    client().submit(Request::of(args...),
                    [answer = pending.reply_](Reply reply) { *answer = std::move(reply); });
    return pending;
  }

  /// Runs EVAL of a Lua script.
  Reply eval(std::string_view script, const std::vector<std::string>& keys = {},
             const std::vector<std::string>& arguments = {});

  /// Returns the time of day, ms since 1970.
  [[nodiscard]] std::int64_t now_ms() const { return clock_.now_ms(); }
  /// Advances the clock. Events run at their due times: expiry, timeouts of blocked commands,
  /// timers.
  void advance_ms(std::int64_t duration_ms) { engine().advance_ms(duration_ms); }

  /// Ends the engine as a crash of its process does, and opens another one on the data of its
  /// store. The clock continues. Other clients return CLOSED from then on. Cached scripts, timers
  /// and pending faults are lost. client(), engine() and store() return new objects. Before you
  /// call it, stop a RespServer on the old engine. If opening fails, this throws, as does every
  /// later use until a restart succeeds.
  void restart();

  [[nodiscard]] Client& client() { return *opened(client_); }
  [[nodiscard]] Engine& engine() { return *opened(engine_); }
  /// Returns the clock, to set the time of day. Advancing this clock directly would run no timers.
  [[nodiscard]] ManualClock& clock() { return clock_; }
  /// Returns the store, to make commits fail: store().fail_commit(1, …), then restart().
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
  MemoryStore memory_{{.keep_state = true}};  // unused with options_.open_store
  std::unique_ptr<Engine> engine_;
  faults::FaultyStore* store_ = nullptr;  // owned by the engine
  std::unique_ptr<Client> client_;
};

}  // namespace rushgate::testing
