// Operations whose current request is blocked on a key (XREADGROUP … BLOCK, BLPOP).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/executor/operation.h"
#include "engine/redis/keyspace/object.h"

namespace rushgate {

/// Belongs to the thread that holds the turn. Does not own the operations.
class BlockedOperations {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Blocked {
    Operation* operation;
    std::uint8_t db;
    BlockRequest request;
    std::int64_t deadline_ms;        // monotonic; 0: none
    std::uint64_t ticket;            // ascending in order of arrival
    ValueType type;                  // of the values that it waits for
    std::int64_t retry_ms = kNever;  // the first of request.timed_retries
  };

  /// Changes nothing if it throws (out of memory).
  void add(Operation& operation, std::uint8_t db, BlockRequest request,
           std::int64_t now_monotonic_ms);

  [[nodiscard]] bool empty() const { return operations_.empty(); }
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  [[nodiscard]] std::size_t size_with_deadline() const { return deadlines_.size(); }
  /// Returns true if an operation is blocked until there is a value of this type.
  [[nodiscard]] bool has_waiter_for(ValueType type) const {
    return counts_[static_cast<std::size_t>(type)] > 0;
  }
  /// Returns true if an operation is blocked on this key.
  [[nodiscard]] bool has_waiter(std::uint8_t db, std::string_view key) const;

  /// Returns the first waiter for a key after `ticket`, whose operation may have been removed.
  [[nodiscard]] std::optional<std::uint64_t> next_waiting(std::uint8_t db, std::string_view key,
                                                          std::uint64_t ticket = 0) const;
  /// Returns the first blocked operation of a session, for CLIENT UNBLOCK.
  [[nodiscard]] std::optional<std::uint64_t> find_session(std::uint64_t session_id) const;

  /// Returns null if it was removed.
  Blocked* find(std::uint64_t ticket);
  /// Removes an operation, which must be there. Needs no memory.
  Blocked remove(std::uint64_t ticket);

  [[nodiscard]] std::optional<std::int64_t> next_deadline_ms() const;
  /// Returns the first operation whose deadline has passed; empty if there is none.
  [[nodiscard]] std::optional<std::uint64_t> first_due(std::int64_t now_monotonic_ms) const;
  [[nodiscard]] std::optional<std::uint64_t> first() const;

  // ---- Timed retries, by the time of day (ms since 1970 UTC) ----
  /// Returns kNever if there are none.
  [[nodiscard]] std::int64_t next_retry_ms() const;
  /// Replaces the retries of an operation for one of its keys.
  void set_timed_retries(std::uint64_t ticket, std::string_view key,
                         std::vector<TimedRetry> retries);
  struct DueRetry {
    std::uint64_t ticket;
    std::string key;
  };
  /// Removes and returns the first retry whose time has come; empty if there is none.
  [[nodiscard]] std::optional<DueRetry> take_due_retry(std::int64_t now_ms);

 private:
  using Key = std::pair<std::uint8_t, std::string>;
  using KeyView = std::pair<std::uint8_t, std::string_view>;
  struct KeyOrder {
    using is_transparent = void;
    bool operator()(const KeyView& a, const KeyView& b) const { return a < b; }
  };

  /// Sets retry_ms from the retries of the request. Needs no memory if it was set.
  void plan_retry(Blocked& blocked);

  std::map<std::uint64_t, Blocked> operations_;  // by ticket
  std::map<Key, absl::btree_set<std::uint64_t>, KeyOrder> tickets_by_key_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> tickets_by_session_;  // (session's id, ticket)
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;            // (deadline, ticket)
  std::set<std::pair<std::int64_t, std::uint64_t>> retries_;              // (retry_ms, ticket)
  std::array<std::size_t, std::variant_size_v<Value>> counts_{};          // of operations_, by type
  std::uint64_t next_ticket_ = 1;
};

}  // namespace rushgate
