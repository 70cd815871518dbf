// Runs commands one at a time, in the order of submission, and commits them in batches (flat
// combining with group commit).
//
// A caller that finds no thread at work takes the turn. It runs its own request and the queued ones
// as one commit batch, commits, sends the replies, and checks the queue again. After its own reply
// it works for others for a limited time. Then it hands the turn to the next waiting caller.
// docs/internals.md follows a request through it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/lockfree/queue.hpp>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/commands/command_context.h"
#include "engine/commands/sessions.h"
#include "engine/commands/settings.h"
#include "engine/executor/background_sync.h"
#include "engine/executor/blocked_operations.h"
#include "engine/executor/operation.h"
#include "engine/executor/service_thread.h"
#include "engine/executor/turn_share.h"
#include "engine/keyspace/keyspace.h"
#include "engine/script/lua_host.h"
#include "engine/script/native_host.h"
#include "engine/script/script_call.h"
#include <rushgate/engine.h>

namespace rushgate {

/// Thread-safe. Engine and the embedded clients share it.
class Executor final : private BusyMonitor, private KeyListener, private BlockedClients {
 public:
  /// `clock` replaces the system's clock if no manual clock is set.
  Executor(std::unique_ptr<Store> store, EngineOptions options,
           std::unique_ptr<const Clock> clock = nullptr);
  ~Executor() override;

  /// Loads the keyspace and starts the service thread. Must be called once, first.
  /// kInvalidArgument: two scripts of one name.
  absl::Status start(std::vector<NamedScript> scripts);

  /// Runs `operation` and waits for its replies. Returns false if its deadline passed while it was
  /// queued; the executor then owns and deletes it. (An operation without a deadline may live on
  /// the caller's stack.)
  bool run_and_wait(Operation& operation, bool fail_when_full);

  /// Queues all operations in their order, then waits for the ones without a completion. The
  /// executor owns the others. No operation may have a deadline. `while_busy` is called repeatedly
  /// while a script of this thread exceeds its time limit.
  void run_all_and_wait(std::span<Operation* const> operations,
                        absl::FunctionRef<void()> while_busy);

  /// For `while_busy`: replies as to other clients while a script exceeds its time limit.
  void answer_busy(Operation& operation);

  /// Queues an operation with a completion.
  void post(std::unique_ptr<Operation> operation, bool fail_when_full);

  /// Times out the blocking commands of a client.
  void unblock_session(std::shared_ptr<Session> session) {
    post(make_operation(std::move(session), Operation::Kind::kUnblock), inside_turn());
  }
  /// Returns the operation for end_session(). Create it early, because it needs memory.
  static std::unique_ptr<Operation> make_session_end(std::shared_ptr<Session> session) {
    return make_operation(std::move(session), Operation::Kind::kEndSession);
  }
  /// Ends a session: replies to its blocked commands and removes its state. Needs no
  /// memory.
  void end_session(std::unique_ptr<Operation> session_end);

  /// Makes all replies so far safe against power loss.
  absl::Status sync();

  /// Manual mode: runs due work in order of time.
  void advance_ms(std::int64_t duration_ms);

  [[nodiscard]] absl::Status health() const;
  void close(EndOfScripts scripts = EndOfScripts::kAwait);

  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] ServiceThread& service() { return service_; }
  /// For the functions of LuaHost that any thread may call.
  [[nodiscard]] LuaHost& lua() { return lua_; }
  /// Returns true once close() has begun. The engine and a manual clock may be gone then.
  [[nodiscard]] bool is_closed() const { return closed_; }
  [[nodiscard]] bool is_manual() const { return options_.manual_clock != nullptr; }
  /// Returns true if sync() has an effect.
  [[nodiscard]] bool keeps_on_disk() const { return durability_ != Durability::kMemory; }
  [[nodiscard]] bool knows_native(std::string_view name) const { return natives_.knows(name); }
  /// Registers native scripts. Any thread may call it.
  void add_natives(std::span<const NamedScript> scripts);
  /// Returns the memory of the keyspace after the last commit batch, less the values freed since.
  /// Any thread may call it.
  [[nodiscard]] std::size_t keyspace_bytes() const {
    return kept_bytes_.load(std::memory_order_relaxed) + keyspace_.lazy_free().bytes_pending();
  }
  /// Assigns an id to the session. end_session() must follow.
  void begin_session(std::shared_ptr<Session> session);

  /// Sets the facts about the server for CONFIG and INFO.
  void set_server(const ServerSettings& server) { sessions_.set_server(server); }

  /// Counts a refused connection.
  void note_refused_session() { sessions_.note_refusal(); }

  /// Returns true if the calling thread is inside this executor's turn, for example in a native
  /// script. It must not call a Client then.
  [[nodiscard]] bool inside_turn() const;

 private:
  /// A key with blocked clients.
  struct Signalled {
    std::uint8_t db;
    std::string key;
    KeySignal what;

    friend bool operator==(const Signalled&, const Signalled&) = default;
  };
  using Queue = boost::lockfree::queue<Operation*, boost::lockfree::fixed_sized<true>>;

  // ---- The turn ----
  bool try_take_turn() { return !turn_.exchange(true); }
  void release_turn();
  bool callers_run() const {
    return options_.policy == EngineOptions::Policy::kCallers || is_manual();
  }
  /// Runs commit batches (`own` first, if not null) until the queue is empty or the share is done.
  /// The thread has the turn at the beginning, and not at the end.
  void work(Operation* own, TurnShare share);
  [[nodiscard]] TurnShare share_of_caller(std::span<const Operation* const> own) const;
  /// Hands the turn to the submitter of the next operation. Returns false, and keeps the turn, if
  /// there is no operation or no thread waits for it.
  bool hand_over();
  /// Does the service thread's work after a kick or at a due time.
  std::int64_t serve();
  static std::unique_ptr<Operation> make_operation(std::shared_ptr<Session> session,
                                                   Operation::Kind kind);
  void enqueue(Operation& operation, bool fail_when_full);
  /// Queues an operation; waits for space. Returns false if it has been replied to instead.
  bool push(Operation& operation, bool fail_when_full, bool may_make_room);
  void wait_for_room(const Operation& operation, std::uint32_t seen);
  void report_free_capacity();
  bool wait_until_answered(Operation& operation);
  /// As wait_until_answered(), but also returns when the submitter gets the turn: kAnswered,
  /// kAbandoned or kHasTurn.
  Operation::State wait_for_news(Operation& operation);
  /// As wait_until_answered(), for a callback on the service thread: it may have to run the queue.
  bool serve_until_answered(Operation& operation);
  void refuse(Operation& operation, std::string_view error);
  void refuse_late_submissions();

  // ---- A group: inside the turn ----
  void run_group(Operation*& own, TurnShare& share);
  void fill_group(Operation*& own, TurnShare& share);
  Operation* next_operation(Operation*& own);
  [[nodiscard]] bool has_unfinished() const { return unfinished_ != nullptr || !resumed_.empty(); }
  bool begin(Operation& operation);
  /// Runs `part` in a savepoint. If it throws, rolls back its changes and returns the error for its
  /// client.
  std::optional<Reply> attempt(absl::FunctionRef<void()> part);
  void run_requests(Operation& operation, TurnShare& share);
  /// Returns true if a reply is allowed without a waiting thread. If not, ends the client.
  static bool takes_reply(const Operation& operation);
  /// Prefetches the memory of the requests' keys.
  void warm_keys(const Session& session, std::span<const Request> requests);
  void run_request(Operation& operation, const Request& request);
  void give(Operation& operation, Reply&& reply);
  void join_group(Operation& operation);
  void commit_group();
  void abandon_group(Operation*& own);
  void answer_group();
  /// Replaces every reply of the commit batch with `error`.
  void fail_group(std::string_view error);
  void answer(Operation& operation);
  void update_time();
  void fire_due();
  void serve_signalled();
  void serve(const Signalled& signalled);
  bool retry_blocked(std::uint64_t ticket, std::string_view ready_key);
  void finish_blocked(std::uint64_t ticket, Reply reply);
  void update_next_due();
  void note_write();

  bool poll() override;  // BusyMonitor
  void key_signalled(std::uint8_t db, std::string_view key,
                     KeySignal what) override;                                  // KeyListener
  [[nodiscard]] bool listens() const override { return !blocked_.empty(); }     // KeyListener
  [[nodiscard]] std::size_t count() const override { return blocked_.size(); }  // BlockedClients
  [[nodiscard]] std::size_t count_with_timeout() const override {
    return blocked_.size_with_deadline();
  }
  [[nodiscard]] bool is_blocked(std::uint64_t session_id) const override;
  bool unblock(std::uint64_t session_id, std::optional<Reply> error) override;

  void fail_store(const absl::Status& reason);
  void sync_if_due(std::int64_t monotonic_ms);

  // ---- Constant after construction ----
  const EngineOptions options_;
  const std::unique_ptr<const Clock> own_clock_;  // unused in manual mode
  const Clock* const clock_;
  const Durability durability_;  // of the store

  // ---- Shared ----
  Queue queue_;
  alignas(64) std::atomic<bool> turn_{false};
  alignas(64) std::atomic<bool> service_waits_{
      false};  // the service thread wanted the turn and found it taken
  std::atomic<std::uint32_t> room_made_{0};  // callers that found the queue full sleep on it
  std::atomic<std::uint32_t> waiting_for_room_{0};
  std::atomic<std::int64_t> next_due_ms_{ServiceThread::kNever};  // monotonic
  std::atomic<std::uint64_t> last_session_id_{0};
  std::atomic<std::size_t> kept_bytes_{0};  // of the keyspace, after the last commit batch
  std::atomic<bool> closed_{false};
  std::atomic<bool> store_failed_{false};
  Sessions sessions_;
  mutable std::mutex failure_mutex_;
  absl::Status failure_;  // guarded by failure_mutex_; the first one stays
  std::shared_ptr<Store>
      store_;  // reset, under failure_mutex_, by close(); used within the turn before

  // ---- Guarded by the turn ----
  Keyspace keyspace_;
  NativeHost natives_;
  LuaHost lua_;
  Channels channels_;
  CommandServices services_;
  BlockedOperations blocked_;
  Operation* unfinished_ = nullptr;  // the first of the next batch: a long pipeline that continues,
                                     // or one whose submitter was handed the turn
  bool is_group_kept_ = false;       // nothing of the batch is rolled back any more
  bool had_fsync_ = false;           // the last batch ended with an fsync
  bool lacks_memory_ = false;        // for the removal of keys that expired
  Changes::Savepoint after_expiry_{};  // before it, the batch only removed expired keys
  bool freed_capacity_ = false;        // an operation was removed from the queue in this batch
  OperationList<&Operation::next_in_group> in_group_;  // got replies in the current batch
  OperationList<&Operation::next> resumed_;  // served while blocked, with more requests to run
  std::vector<Signalled> signalled_;         // in order
  std::size_t group_requests_ = 0;
  std::int64_t sync_due_ms_ = ServiceThread::kNever;  // manual mode with everysec: monotonic

  BackgroundSync background_sync_;  // idle in manual mode
  ServiceThread service_;
};

}  // namespace rushgate
