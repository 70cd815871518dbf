// Runs commands one at a time, in the order of submission, and commits them in batches (flat
// combining with group commit).
//
// A caller that finds no thread at work takes the turn. It runs its own request and the queued ones
// as one commit batch, commits, sends the replies, and checks the queue again. After its own reply
// it works for others for a limited time. Then it hands the turn to the next waiting caller.
// docs/how-the-engine-works.md follows a request through it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/publishing.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/settings.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/executor/batch_operations.h"
#include "engine/redis/executor/busy_replies.h"
#include "engine/redis/executor/combiner.h"
#include "engine/redis/executor/commit_batch.h"
#include "engine/redis/executor/due_work.h"
#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/operation_queue.h"
#include "engine/redis/executor/reply_sender.h"
#include "engine/redis/executor/service_thread.h"
#include "engine/redis/executor/store_guard.h"
#include "engine/redis/executor/store_recovery.h"
#include "engine/redis/executor/unblocker.h"
#include "engine/redis/keyspace/keyspace.h"
#include "engine/redis/script/lua_host.h"
#include "engine/redis/script/native_host.h"
#include <rushgate/engine.h>

namespace rushgate {

/// Thread-safe. Engine and the embedded clients share it. Connects the parts that do the work:
/// Combiner (the turn), CommitBatch, Unblocker (blocked clients), StoreGuard and StoreRecovery
/// (store failure).
class Executor final {
 public:
  /// `clock` replaces the system's clock if no manual clock is set.
  Executor(std::unique_ptr<Store> store, EngineOptions options,
           std::unique_ptr<const Clock> clock = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Loads the keyspace and starts the service thread. Must be called once, first.
  /// kInvalidArgument: two scripts of one name.
  absl::Status start(std::vector<NamedScript> scripts);
  void close(EndOfScripts scripts = EndOfScripts::kAwait);
  /// Returns true once close() has begun. The engine and a manual clock may be gone then.
  [[nodiscard]] bool is_closed() const { return combiner_.is_closed(); }

  // ---- Operations ----

  /// Runs `operation` and waits for its replies. Returns false if its deadline passed while it was
  /// queued; the executor then owns and deletes it. (An operation without a deadline may live on
  /// the caller's stack.)
  bool run_and_wait(Operation& operation, bool fail_when_full) {
    return combiner_.run_and_wait(operation, fail_when_full);
  }
  /// Queues all operations in their order, then waits for the ones without a completion. The
  /// executor owns the others. No operation may have a deadline. `while_busy` is called repeatedly
  /// while a script of this thread exceeds its time limit.
  void run_all_and_wait(std::span<Operation* const> operations,
                        absl::FunctionRef<void()> while_busy) {
    combiner_.run_all_and_wait(operations, while_busy);
  }
  /// For `while_busy`: replies as to other clients while a script exceeds its time limit.
  void reply_while_busy(Operation& operation) { busy_replies_.reply(operation); }
  /// Queues an operation with a completion.
  void post(std::unique_ptr<Operation> operation, bool fail_when_full) {
    combiner_.post(std::move(operation), fail_when_full);
  }
  /// Returns true if the calling thread is inside this executor's turn, for example in a native
  /// script. It must not call a Client then.
  [[nodiscard]] bool inside_turn() const { return combiner_.is_inside_turn(); }

  // ---- Sessions ----

  /// Assigns an id to the session. end_session() must follow.
  void begin_session(std::shared_ptr<Session> session);
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
  void end_session(std::unique_ptr<Operation> session_end) {
    post(std::move(session_end), inside_turn());  // the turn's holder must not wait for capacity
  }
  /// Sets the facts about the server for CONFIG and INFO.
  void set_server(const ServerSettings& server) { sessions_.set_server(server); }
  [[nodiscard]] ServerSettings server() const { return sessions_.server(); }
  /// Any thread may change it.
  [[nodiscard]] Traffic& traffic() { return sessions_.traffic(); }
  /// Returns proto-max-bulk-len. Any thread may call it.
  [[nodiscard]] std::size_t argument_bytes_max() const {
    return services_.settings.string_bytes_max;
  }
  /// Any thread may change them.
  [[nodiscard]] InstalledCommands& program_commands() { return services_.program_commands; }
  /// Counts a refused connection.
  void note_refused_session() { sessions_.note_refusal(); }

  // ---- The store ----

  /// Makes all replies so far safe against power loss.
  absl::Status sync() { return store_.sync(); }
  absl::Status copy_to(const std::filesystem::path& dir, const std::filesystem::path& previous,
                       AfterPortion after) {
    return store_.copy_to(dir, previous, after);
  }
  /// Returns true if sync() has an effect.
  [[nodiscard]] bool keeps_on_disk() const { return store_.durability() != Durability::kMemory; }
  /// Returns the store's first failure, until the store works again.
  [[nodiscard]] absl::Status health() const { return store_.health(); }

  // ---- Time ----

  [[nodiscard]] const Clock& clock() const { return *clock_; }
  [[nodiscard]] ServiceThread& service() { return service_; }
  [[nodiscard]] bool is_manual() const { return options_.manual_clock != nullptr; }
  /// Manual mode: runs due work in order of time.
  void advance_ms(std::int64_t duration_ms);

  // ---- Scripts and memory ----

  /// For the functions of LuaHost that any thread may call.
  [[nodiscard]] LuaHost& lua() { return lua_; }
  [[nodiscard]] bool knows_native(std::string_view name) const { return natives_.knows(name); }
  /// Registers native scripts. Any thread may call it.
  void add_natives(std::span<const NamedScript> scripts);
  /// Returns the memory of the keyspace after the last commit batch, less the values freed since.
  /// Any thread may call it.
  [[nodiscard]] std::size_t keyspace_bytes() const {
    return batch_.kept_bytes() + keyspace_.lazy_free().bytes_pending();
  }

 private:
  void note_end_of_failure();
  static std::unique_ptr<Operation> make_operation(std::shared_ptr<Session> session,
                                                   Operation::Kind kind);

  // ---- Constant after construction ----
  const EngineOptions options_;
  const std::unique_ptr<const Clock> own_clock_;  // unused in manual mode
  const Clock* const clock_;

  // ---- Shared ----
  std::atomic<std::uint64_t> last_session_id_{0};
  Sessions sessions_;
  StoreGuard store_;

  // ---- Guarded by the turn, except for functions that any thread may call ----
  Keyspace keyspace_;
  NativeHost natives_;
  LuaHost lua_;
  Channels channels_;
  KeyEventPublisher key_events_{channels_, keyspace_.changes()};
  TrackingTable tracking_{services_};
  CommandServices services_;
  ReplySender sender_;
  OperationQueue queue_;
  BatchOperations batch_operations_;
  Unblocker unblocker_;
  BusyReplies busy_replies_;
  DueWork due_work_;
  CommitBatch batch_;
  Combiner combiner_;

  ServiceThread service_;
  StoreRecovery recovery_;
};

}  // namespace rushgate
