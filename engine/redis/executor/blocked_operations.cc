#include "engine/redis/executor/blocked_operations.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/redis/commands/command_table.h"

namespace rushgate {

namespace {

/// Returns the type of the values that a blocked command waits for. WAIT, which has no keys, counts
/// as one that waits for lists.
ValueType type_waited_for(std::string_view command) {
  switch (find_command(command)->group) {
    case CommandGroup::kStream:
      return ValueType::kStream;
    case CommandGroup::kSortedSet:
      return ValueType::kSortedSet;
    default:
      return ValueType::kList;
  }
}

}  // namespace

void BlockedOperations::add(Operation& operation, std::uint8_t db, BlockRequest request,
                            std::int64_t now_monotonic_ms) {
  const std::uint64_t ticket = next_ticket_++;
  constexpr std::int64_t kForeverMs = std::int64_t{1}
                                      << 60;  // longer timeouts would overflow the clock
  const ValueType type = type_waited_for(request.retry[0]);
  const std::int64_t deadline_ms =
      request.timeout_ms > 0 ? now_monotonic_ms + std::min(request.timeout_ms, kForeverMs) : 0;
  Blocked& blocked =
      operations_
          .emplace(ticket, Blocked{&operation, db, std::move(request), deadline_ms, ticket, type})
          .first->second;
  ++counts_[static_cast<std::size_t>(type)];
  absl::Cleanup undo = [&] { remove(ticket); };
  for (const std::string& key : blocked.request.keys) tickets_by_key_[{db, key}].insert(ticket);
  if (deadline_ms != 0) deadlines_.emplace(deadline_ms, ticket);
  tickets_by_session_.emplace(operation.session->id, ticket);
  plan_retry(blocked);
  std::move(undo).Cancel();
}

bool BlockedOperations::has_waiter(std::uint8_t db, std::string_view key) const {
  return !operations_.empty() && tickets_by_key_.contains(KeyView{db, key});
}

std::optional<std::uint64_t> BlockedOperations::next_waiting(std::uint8_t db, std::string_view key,
                                                             std::uint64_t ticket) const {
  const auto found = tickets_by_key_.find(KeyView{db, key});
  if (found == tickets_by_key_.end()) return std::nullopt;
  const auto next = found->second.upper_bound(ticket);
  if (next == found->second.end()) return std::nullopt;
  return *next;
}

std::optional<std::uint64_t> BlockedOperations::find_session(std::uint64_t session_id) const {
  const auto found = tickets_by_session_.lower_bound({session_id, 0});
  if (found == tickets_by_session_.end() || found->first != session_id) return std::nullopt;
  return found->second;
}

BlockedOperations::Blocked* BlockedOperations::find(std::uint64_t ticket) {
  const auto found = operations_.find(ticket);
  return found == operations_.end() ? nullptr : &found->second;
}

BlockedOperations::Blocked BlockedOperations::remove(std::uint64_t ticket) {
  auto node = operations_.extract(ticket);
  assert(!node.empty());
  Blocked blocked = std::move(node.mapped());
  --counts_[static_cast<std::size_t>(blocked.type)];
  for (const std::string& key : blocked.request.keys) {
    const auto found = tickets_by_key_.find(KeyView{blocked.db, key});
    if (found == tickets_by_key_.end()) continue;
    found->second.erase(ticket);
    if (found->second.empty()) tickets_by_key_.erase(found);
  }
  tickets_by_session_.erase({blocked.operation->session->id, ticket});
  if (blocked.deadline_ms != 0) deadlines_.erase({blocked.deadline_ms, ticket});
  if (blocked.retry_ms != kNever) retries_.erase({blocked.retry_ms, ticket});
  return blocked;
}

std::optional<std::int64_t> BlockedOperations::next_deadline_ms() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::optional<std::uint64_t> BlockedOperations::first_due(std::int64_t now_monotonic_ms) const {
  if (deadlines_.empty() || deadlines_.begin()->first > now_monotonic_ms) return std::nullopt;
  return deadlines_.begin()->second;
}

std::optional<std::uint64_t> BlockedOperations::first() const {
  if (operations_.empty()) return std::nullopt;
  return operations_.begin()->first;
}

// ---- Timed retries ----

void BlockedOperations::plan_retry(Blocked& blocked) {
  std::int64_t first_ms = kNever;
  for (const TimedRetry& retry : blocked.request.timed_retries)
    first_ms = std::min(first_ms, retry.at_ms);
  if (first_ms == blocked.retry_ms) return;
  auto planned = retries_.extract({blocked.retry_ms, blocked.ticket});
  blocked.retry_ms = kNever;
  if (first_ms == kNever) return;
  if (planned.empty()) {
    retries_.emplace(first_ms, blocked.ticket);
  } else {
    planned.value().first = first_ms;
    retries_.insert(std::move(planned));
  }
  blocked.retry_ms = first_ms;
}

std::int64_t BlockedOperations::next_retry_ms() const {
  return retries_.empty() ? kNever : retries_.begin()->first;
}

void BlockedOperations::set_timed_retries(std::uint64_t ticket, std::string_view key,
                                          std::vector<TimedRetry> retries) {
  Blocked& blocked = *find(ticket);
  std::vector<TimedRetry>& planned = blocked.request.timed_retries;
  if (planned.empty() && retries.empty()) return;
  std::erase_if(planned, [key](const TimedRetry& retry) { return retry.key == key; });
  planned.insert(planned.end(), std::make_move_iterator(retries.begin()),
                 std::make_move_iterator(retries.end()));
  plan_retry(blocked);
}

std::optional<BlockedOperations::DueRetry> BlockedOperations::take_due_retry(std::int64_t now_ms) {
  if (next_retry_ms() > now_ms) return std::nullopt;
  Blocked& blocked = *find(retries_.begin()->second);
  std::vector<TimedRetry>& planned = blocked.request.timed_retries;
  const auto due = std::ranges::min_element(planned, {}, &TimedRetry::at_ms);
  DueRetry taken{.ticket = blocked.ticket, .key = std::move(due->key)};
  planned.erase(due);
  plan_retry(blocked);
  return taken;
}

}  // namespace rushgate
