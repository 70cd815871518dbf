#include "engine/redis/executor/commit_batch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "engine/redis/commands/clients.h"
#include "engine/redis/commands/dispatch.h"
#include "engine/redis/commands/tracking_table.h"
#include "engine/redis/executor/executor_errors.h"
#include "engine/redis/executor/guarded_part.h"
#include "engine/redis/executor/key_prefetch.h"

namespace rushgate {

CommitBatch::CommitBatch(const Parts& parts)
    : options_(parts.options),
      clock_(parts.clock),
      store_(parts.store),
      services_(parts.services),
      keyspace_(parts.services.keyspace),
      queue_(parts.queue),
      operations_(parts.operations),
      unblocker_(parts.unblocker),
      due_work_(parts.due_work),
      sender_(parts.sender) {}

void CommitBatch::run(Operation*& own, TurnShare& share) {
  is_final_ = false;
  try {
    fill(own, share);
    commit();
    send_replies();
  } catch (...) {
    abandon(own);
  }
}

void CommitBatch::abandon(Operation*& own) {
  constexpr std::string_view kError = "ERR internal error: the commit batch was abandoned";
  if (!is_final_) {
    keyspace_.changes().roll_back_to({});
    operations_.fail(kError);
  }
  if (own != nullptr) sender_.refuse(*std::exchange(own, nullptr), kError);
  send_replies();
}

// ---- Running ----

void CommitBatch::fill(Operation*& own, TurnShare& share) {
  operations_.begin();
  after_expiry_ = keyspace_.changes().savepoint();
  keyspace_.set_now_ms(clock_.now_ms());
  if (store_.has_failed() && services_.write_refusal.empty()) {
    services_.write_refusal = executor_errors::write_refusal(store_.health());
  }
  if (due_work_.is_due()) run_due_work();
  while (operations_.requests() < options_.batch_requests_max && !share.is_over()) {
    Operation* const operation = queue_.next(own);
    if (operation == nullptr) break;
    run_operation(*operation, share);
  }
}

void CommitBatch::run_due_work() {
  due_work_.end_pause();
  due_work_.remove_expired();
  after_expiry_ = keyspace_.changes().savepoint();
  due_work_.serve_blocked();
}

void CommitBatch::run_operation(Operation& operation, TurnShare& share) {
  operations_.join(operation);
  Session& session = *operation.session;
  if (operation.kind == Operation::Kind::kUnblock) unblocker_.unblock(session.id, std::nullopt);
  if (operation.kind == Operation::Kind::kEndSession) return end_session(services_, session);
  if (session.is_ended || !operation.takes_reply()) {
    return operation.fail_rest(executor_errors::kKilledText);
  }
  run_requests(operation, share);
}

void CommitBatch::run_requests(Operation& operation, TurnShare& share) {
  Session& session = *operation.session;
  ReplyBudget* const budget = operation.reply_budget;
  const bool is_foreign = share.has_own_run();
  while (!operation.finished()) {
    if (budget != nullptr && budget->is_spent()) return operation.drop_rest();
    if (operations_.requests() >= options_.batch_requests_max ||
        (is_foreign && share.ends_before_foreign_request())) {
      return queue_.put_back(operation);
    }
    const std::size_t replied = operation.replies.size();
    const auto left = operation.requests.subspan(replied);
    if (replied % kWarmedMax == 0 && left.size() > 1) {
      prefetch(session, left.first(std::min(left.size(), kWarmedMax)));
    }
    run_request(operation, operation.requests[replied]);
    operation.protocol = session.protocol;
    if (unblocker_.has_signals()) unblocker_.serve_signalled();
    if (operation.replies.size() == replied) return;  // blocked
    if (budget != nullptr) budget->charge(memory_bytes(operation.replies.back()));
  }
}

void CommitBatch::run_request(Operation& operation, const Request& request) {
  operations_.count_request();
  if (request.empty()) {
    operation.replies.push_back(executor_errors::reply(executor_errors::kEmptyRequestText));
    return;
  }
  Session& session = *operation.session;
  Reply reply;
  bool is_blocked = false;
  services_.tracking.begin_request(session);
  std::optional<Reply> error = run_guarded(keyspace_, [&] {
    CommandContext context(services_, session, request, CommandContext::Origin::kClient, false);
    reply = run_client_command(context);
    if (context.is_paused()) {
      is_blocked = pause(operation);
      if (!is_blocked) reply = executor_errors::reply(executor_errors::kPausedText);
      return;
    }
    if (!context.block_request()) return;
    is_blocked = block(operation, *context.block_request());
    if (!is_blocked) reply = std::move(context.block_request()->on_timeout);
  });
  services_.tracking.end_request();
  if (is_blocked) return;
  if (error && session.transaction) session.transaction->is_broken = true;
  operation.add_reply(error ? *std::move(error) : std::move(reply));
}

bool CommitBatch::block(Operation& operation, BlockRequest& request) {
  if (!may_wait(operation)) return false;
  unblocker_.block(operation, std::move(request), clock_.monotonic_ms());
  return true;
}

bool CommitBatch::pause(Operation& operation) {
  if (!operation.returns_when_paused && !may_wait(operation)) return false;
  unblocker_.pause(operation);
  return true;
}

/// In manual mode the only thread would wait for itself.
bool CommitBatch::may_wait(const Operation& operation) const {
  return options_.manual_clock == nullptr || operation.completion != nullptr;
}

void CommitBatch::prefetch(const Session& session, std::span<const Request> requests) {
  KeyPrefetch keys(keyspace_);
  for (const Request& request : requests) keys.add(session.db, request);
  keys.run();
}

void CommitBatch::prefetch(std::span<const Operation* const> operations) {
  KeyPrefetch keys(keyspace_);
  for (const Operation* const operation : operations) {
    // Those with more requests prefetch their keys when they run.
    if (operation->state.is_replied() || operation->requests.size() > 1) continue;
    keys.add(operation->session->db, operation->requests[0]);
  }
  keys.run();
}

void CommitBatch::refuse_blocked(std::string_view error) {
  while (Operation* const operation = unblocker_.remove_any()) sender_.refuse(*operation, error);
}

// ---- The commit ----

void CommitBatch::commit() {
  const bool has_changes = !keyspace_.changes().empty();
  had_fsync_ = false;
  if (has_changes) commit_changes();
  if (std::exchange(services_.saves_batch, false)) save();
  is_final_ = true;
  const std::size_t kept_bytes = keyspace_.kept_bytes();
  kept_bytes_.store(kept_bytes, std::memory_order_relaxed);
  services_.memory_peak_bytes = std::max(services_.memory_peak_bytes, kept_bytes);
  const bool has_due_work =
      has_changes || !unblocker_.empty() || services_.pause.is_active() || due_work_.is_planned();
  if (has_due_work) due_work_.plan_next();
}

void CommitBatch::commit_changes() {
  // A key whose removal is lost expires again.
  const bool only_expired = !keyspace_.changes().changed_since(after_expiry_);
  if (only_expired) keyspace_.changes().records().defer_sync();
  if (!services_.write_refusal.empty()) {
    // These are only keys that expired: reads continue, writes are refused.
    services_.channels.send_before_replies();
    keyspace_.changes().roll_back_to({});
    return;
  }
  absl::Status committed;
  if (const auto error = run_guarded(keyspace_, [&] { committed = keyspace_.commit(); })) {
    operations_.fail(error->text());
  } else if (!committed.ok()) {
    store_.fail(committed);
    operations_.fail(executor_errors::outcome_unknown(committed));
  } else {
    had_fsync_ = store_.durability() == Durability::kSync && !only_expired;
    store_.note_commit(had_fsync_);
  }
}

void CommitBatch::save() {
  const absl::Status saved = store_.sync();
  if (saved.ok()) {
    services_.saved_ms = keyspace_.now_ms();
    ++services_.saves;
    had_fsync_ = store_.durability() != Durability::kMemory;
  } else {
    operations_.fail(executor_errors::outcome_unknown(saved));
  }
}

void CommitBatch::send_replies() {
  services_.tracking.end_batch();
  if (services_.channels.waiting() > 0) services_.channels.send_before_replies();
  while (Operation* const operation = operations_.pop()) {
    if (operation->finished()) sender_.send(*operation);
  }
  if (services_.channels.waiting() > 0) services_.channels.send_after_replies();
  queue_.report_freed_capacity();
}

}  // namespace rushgate
