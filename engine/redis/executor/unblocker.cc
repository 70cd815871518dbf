#include "engine/redis/executor/unblocker.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/executor/guarded_part.h"

namespace rushgate {

void Unblocker::block(Operation& operation, BlockRequest request, std::int64_t now_monotonic_ms) {
  blocked_.add(operation, operation.session->db, std::move(request), now_monotonic_ms);
  operation.is_blocked = true;
}

void Unblocker::pause(Operation& operation) {
  const bool returns = operation.returns_when_paused;
  paused_.push_back({operation.session, returns ? nullptr : &operation});
  if (returns) {
    operation.session->is_paused = true;
    operation.drop_rest();
  } else {
    operation.is_blocked = true;
  }
}

void Unblocker::resume(const Paused& paused) {
  if (paused.operation != nullptr) {
    paused.operation->is_blocked = false;
    queue_.resume(*paused.operation);
  } else {
    paused.session->outlet->resume();
  }
}

void Unblocker::end_pause() {
  services_.pause.end();
  for (const Paused& paused : std::exchange(paused_, {})) resume(paused);
}

void Unblocker::drop_paused(std::uint64_t session_id) {
  std::erase_if(paused_, [&](const Paused& paused) {
    if (paused.session->id != session_id) return false;
    if (paused.operation != nullptr) resume(paused);  // to be refused
    return true;
  });
}

void Unblocker::key_signalled(std::uint8_t db, std::string_view key, ValueType type,
                              KeySignal signal) {
  // As in Redis, which decides the order in which keys are served.
  if (!blocked_.has_waiter_for(type) || !blocked_.has_waiter(db, key)) return;
  Signalled signalled{db, std::string(key), signal};
  if (is_signalled_.contains(signalled)) return;
  signalled_.push_back(signalled);
  is_signalled_.insert(std::move(signalled));
}

void Unblocker::serve_signalled() {
  while (!signalled_.empty()) {
    is_signalled_.clear();
    for (const Signalled& signalled : std::exchange(signalled_, {})) serve(signalled);
  }
}

void Unblocker::serve(const Signalled& signalled) {
  const auto& [db, key, signal] = signalled;
  const bool existed = exists(signalled);
  auto ticket = blocked_.next_waiting(db, key);
  for (; ticket; ticket = blocked_.next_waiting(db, key, *ticket)) {
    const bool is_served = retry(*ticket, key, CommandContext::Woken::kBySignal);
    if (!is_served || !existed || signal == KeySignal::kGone) continue;
    // The key is empty now: stop serving waiters.
    if (!exists(signalled)) return;
  }
}

bool Unblocker::exists(const Signalled& signalled) const {
  const Database& db = services_.keyspace.db(signalled.db);
  const Object* const object = db.find_stored(signalled.key);
  return object != nullptr && !db.has_expired(*object);
}

bool Unblocker::retry(std::uint64_t ticket, std::string_view ready_key,
                      CommandContext::Woken woken) {
  const BlockedOperations::Blocked& blocked = *blocked_.find(ticket);
  if (!blocked.operation->takes_reply()) return false;
  Session& session = *blocked.operation->session;
  // A later request of the session may have selected another database.
  const absl::Cleanup restore = [&session, db = std::exchange(session.db, blocked.db)] {
    session.db = db;
  };
  const auto end_changes = services_.tracking.count_changes_of(session);
  Reply reply;
  bool stays_blocked = false;
  std::optional<Reply> error = run_guarded(services_.keyspace, [&] {
    CommandContext context(services_, session, blocked.request.retry,
                           CommandContext::Origin::kClient, false, ready_key, woken);
    reply = run_command(context);
    stays_blocked = context.block_request().has_value();
    if (stays_blocked) {
      blocked_.set_timed_retries(ticket, ready_key,
                                 std::move(context.block_request()->timed_retries));
    }
  });
  if (stays_blocked && !error) return false;
  batch_.count_request();
  finish(ticket, error ? *std::move(error) : std::move(reply));
  return true;
}

void Unblocker::retry_due(std::int64_t now_ms) {
  while (const auto due = blocked_.take_due_retry(now_ms)) {
    retry(due->ticket, due->key, CommandContext::Woken::kByTime);
  }
}

void Unblocker::time_out(std::int64_t now_monotonic_ms) {
  while (const auto ticket = blocked_.first_due(now_monotonic_ms)) finish_as_timed_out(*ticket);
}

bool Unblocker::is_blocked(std::uint64_t session_id) const {
  return blocked_.find_session(session_id).has_value() ||
         std::ranges::any_of(paused_, [session_id](const Paused& paused) {
           return paused.session->id == session_id;
         });
}

bool Unblocker::unblock(std::uint64_t session_id, std::optional<Reply> error) {
  bool was_blocked = false;
  while (const auto ticket = blocked_.find_session(session_id)) {
    if (error) {
      finish(*ticket, *error);
    } else {
      finish_as_timed_out(*ticket);
    }
    was_blocked = true;
  }
  return was_blocked;
}

void Unblocker::finish_as_timed_out(std::uint64_t ticket) {
  finish(ticket, std::move(blocked_.find(ticket)->request.on_timeout));
}

void Unblocker::finish(std::uint64_t ticket, Reply reply) {
  Operation& operation = *blocked_.remove(ticket).operation;
  operation.is_blocked = false;
  batch_.join(operation);
  operation.add_reply(std::move(reply));
  if (!operation.finished()) queue_.resume(operation);
}

Operation* Unblocker::remove_any() {
  for (; !paused_.empty(); paused_.pop_back()) {
    if (Operation* const operation = paused_.back().operation) {
      paused_.pop_back();
      return operation;
    }
  }
  const auto ticket = blocked_.first();
  return ticket ? blocked_.remove(*ticket).operation : nullptr;
}

}  // namespace rushgate
