// The clients with a blocked command, and every way in which a block ends. Also the clients with
// requests that CLIENT PAUSE delays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/executor/batch_operations.h"
#include "engine/redis/executor/blocked_operations.h"
#include "engine/redis/executor/operation_queue.h"
#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/reply.h>

namespace rushgate {

/// Belongs to the thread that holds the turn. Replies go to the current commit batch. An operation
/// with more requests goes back to the queue.
class Unblocker final : public KeyListener, public BlockedClients {
 public:
  Unblocker(CommandServices& services, BatchOperations& batch, OperationQueue& queue)
      : services_(services), batch_(batch), queue_(queue) {}

  /// Blocks an operation on the keys of its current request. Changes nothing if it throws (out of
  /// memory).
  void block(Operation& operation, BlockRequest request, std::int64_t now_monotonic_ms);
  /// Delays the operation from its current request on, until the end of the pause. If its server
  /// keeps the requests, ends the operation without replies to them. Changes nothing if it throws
  /// (out of memory).
  void pause(Operation& operation);
  [[nodiscard]] bool empty() const { return blocked_.empty(); }

  // ---- KeyListener ----
  /// Notes the signal for serve_signalled(), if any client is blocked by this type.
  void key_signalled(std::uint8_t db, std::string_view key, ValueType type,
                     KeySignal signal) override;
  [[nodiscard]] bool listens() const override { return !blocked_.empty(); }
  [[nodiscard]] bool has_signals() const { return !signalled_.empty(); }
  /// Retries the commands that are blocked on signalled keys, in order of the signals. A retried
  /// command may signal further keys (BLMOVE), which are served after these.
  void serve_signalled();

  // ---- Timeouts ----
  [[nodiscard]] std::optional<std::int64_t> next_timeout_ms() const {
    return blocked_.next_deadline_ms();
  }
  /// Returns the time (ms since 1970 UTC) of the next retry of a command whose key is not signalled;
  /// BlockedOperations::kNever without one.
  [[nodiscard]] std::int64_t next_retry_ms() const { return blocked_.next_retry_ms(); }
  /// Retries the commands whose time has come.
  void retry_due(std::int64_t now_ms);
  /// Ends the blocks whose timeout has passed.
  void time_out(std::int64_t now_monotonic_ms);

  // ---- BlockedClients ----
  [[nodiscard]] std::size_t count() const override { return blocked_.size() + paused_.size(); }
  [[nodiscard]] std::size_t count_with_timeout() const override {
    return blocked_.size_with_deadline();
  }
  [[nodiscard]] bool is_blocked(std::uint64_t session_id) const override;
  bool unblock(std::uint64_t session_id, std::optional<Reply> error) override;
  void end_pause() override;
  void drop_paused(std::uint64_t session_id) override;

  // ---- The end ----
  /// Removes and returns a blocked operation without a reply; null if there is none.
  Operation* remove_any();

 private:
  struct Signalled {
    std::uint8_t db;
    std::string key;
    KeySignal signal;

    friend bool operator==(const Signalled&, const Signalled&) = default;
    template <class Hash>
    friend Hash AbslHashValue(Hash hash, const Signalled& signalled) {
      return Hash::combine(std::move(hash), signalled.db, signalled.key, signalled.signal);
    }
  };

  struct Paused {
    Session* session;
    Operation* operation;  // null: its server keeps the requests
  };

  void resume(const Paused& paused);
  void serve(const Signalled& signalled);
  [[nodiscard]] bool exists(const Signalled& signalled) const;
  /// Runs a blocked command for one key. Returns false if it stays blocked.
  bool retry(std::uint64_t ticket, std::string_view ready_key, CommandContext::Woken woken);
  void finish(std::uint64_t ticket, Reply reply);
  void finish_as_timed_out(std::uint64_t ticket);

  CommandServices& services_;
  BatchOperations& batch_;
  OperationQueue& queue_;
  BlockedOperations blocked_;
  std::vector<Signalled> signalled_;             // in order
  absl::flat_hash_set<Signalled> is_signalled_;  // of signalled_
  std::vector<Paused> paused_;                   // in order
};

}  // namespace rushgate
