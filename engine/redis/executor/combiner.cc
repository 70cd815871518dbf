#include "engine/redis/executor/combiner.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "engine/redis/executor/busy_replies.h"
#include "engine/redis/executor/executor_errors.h"

namespace rushgate {

Combiner::Combiner(const Parts& parts)
    : options_(parts.options),
      is_manual_(parts.options.manual_clock != nullptr),
      clock_(parts.clock),
      queue_(parts.queue),
      batch_(parts.batch),
      due_work_(parts.due_work),
      sender_(parts.sender),
      service_(parts.service) {}

bool Combiner::close() {
  if (is_closed_.exchange(true)) return false;
  turn_.take();
  TurnShare everything = TurnShare::of_everything();
  do {
    Operation* none = nullptr;
    batch_.run(none, everything);
  } while (queue_.has_begun() || !queue_.empty());
  batch_.refuse_blocked(executor_errors::kClosedText);
  turn_.give_away();
  queue_.refuse_all(executor_errors::kClosedText);
  return true;
}

// ---- Submitting ----

bool Combiner::run_and_wait(Operation& operation, bool fail_when_full) {
  operation.reserve_replies();
  operation.submitter_serves = !is_manual_ && service_.inside_callback();
  operation.takes_turn = callers_work() && !operation.submitter_serves;
  // An operation that finds the queue empty and the turn free needs no queue and no wake-up.
  if (callers_work() && queue_.empty() && !is_closed_.load(std::memory_order_relaxed) &&
      turn_.try_take()) {
    const Operation* const own = &operation;
    work(&operation, share_of_caller({&own, 1}));
  } else {
    enqueue(operation, fail_when_full);
  }
  return wait_until_replied(operation);
}

void Combiner::run_all_and_wait(std::span<Operation* const> operations,
                                absl::FunctionRef<void()> while_busy) {
  absl::InlinedVector<Operation*, 16> awaited;
  awaited.reserve(operations.size());
  for (Operation* const operation : operations) operation->reserve_replies();
  const BusyReplies::WhileBusy busy(while_busy);
  for (Operation* const operation : operations) {
    if (operation->completion == nullptr) awaited.push_back(operation);
    push(*operation, false, callers_work());
  }
  if (is_closed_)
    queue_.refuse_all(executor_errors::kClosedText);  // close() may have checked before
  if (!callers_work()) {
    service_.kick();
  } else if (turn_.try_take()) {
    batch_.prefetch(awaited);
    work(nullptr, share_of_caller(awaited));
  }
  for (Operation* const operation : awaited) {
    operation->takes_turn = callers_work();  // earlier ones get their replies
    wait_until_replied(*operation);
  }
}

void Combiner::post(std::unique_ptr<Operation> operation, bool fail_when_full) {
  operation->reserve_replies();
  enqueue(*operation.release(), fail_when_full);
  if (is_manual_) service_.run_pending();  // it may have been refused without a turn
}

void Combiner::enqueue(Operation& operation, bool fail_when_full) {
  // The service thread runs operations with completions. Their submitters must not block, and may
  // be fibers, whose stacks are too small for commands.
  const bool may_work = is_manual_ || (callers_work() && operation.completion == nullptr);
  if (!push(operation, fail_when_full, may_work || service_.inside_callback())) return;
  if (is_closed_) {  // close() may have checked the queue before
    queue_.refuse_all(executor_errors::kClosedText);
  } else if (!may_work) {
    service_.kick();
  } else {
    const Operation* const own = &operation;
    try_work(share_of_caller({&own, 1}));
  }
}

bool Combiner::push(Operation& operation, bool fail_when_full, bool may_work) {
  while (true) {
    const std::uint32_t times_freed = queue_.times_freed();
    if (!is_closed_ && queue_.push(operation)) return true;
    if (const std::string_view error = refusal(operation, fail_when_full); !error.empty()) {
      sender_.refuse(operation, error);
      return false;
    }
    if (may_work && turn_.try_take()) {
      work(nullptr, share_of_caller({}));
    } else {
      wait_for_capacity(operation, times_freed);
    }
  }
}

std::string_view Combiner::refusal(const Operation& operation, bool fail_when_full) const {
  if (is_closed_) return executor_errors::kClosedText;
  if (fail_when_full) return executor_errors::kOverloadedText;
  if (operation.deadline_ms != 0 && clock_.monotonic_ms() >= operation.deadline_ms) {
    return executor_errors::kTimedOutText;
  }
  return {};
}

void Combiner::wait_for_capacity(const Operation& operation, std::uint32_t times_freed) {
  // The turn's last holder may have left the rest to the service thread, which may be in a
  // callback.
  constexpr std::int64_t kRecheckMs = 10;
  std::int64_t sleep_ms = kRecheckMs;
  if (operation.deadline_ms != 0) {
    sleep_ms =
        std::clamp<std::int64_t>(operation.deadline_ms - clock_.monotonic_ms(), 0, kRecheckMs);
  }
  service_.kick();
  queue_.wait_for_capacity(times_freed, sleep_ms);
}

// ---- Waiting ----

bool Combiner::wait_until_replied(Operation& operation) {
  if (operation.submitter_serves) return serve_until_replied(operation);
  while (true) {
    const OperationState::Value state = operation.state.wait(clock_, operation.deadline_ms);
    if (state != OperationState::kHasTurn) return state == OperationState::kReplied;
    operation.state.run_in_own_turn();
    turn_.receive();
    const Operation* const own = &operation;
    work(nullptr, share_of_caller({&own, 1}));  // the queue returns it first
  }
}

bool Combiner::serve_until_replied(Operation& operation) {
  while (true) {
    const std::uint32_t kicks_before = service_.kicks();
    if (operation.state.is_replied()) return true;
    const bool may_abandon = operation.deadline_ms != 0 && operation.state.is_waiting();
    if (may_abandon && clock_.monotonic_ms() >= operation.deadline_ms) {
      if (operation.state.abandon()) return false;
    } else {
      const std::int64_t end_ms = may_abandon ? operation.deadline_ms : ServiceThread::kNever;
      service_.sleep(kicks_before, std::min(serve(), end_ms));
    }
  }
}

// ---- Working ----

TurnShare Combiner::share_of_caller(std::span<const Operation* const> own) const {
  if (is_manual_) return TurnShare::of_everything();
  if (service_.inside_callback()) return TurnShare::of_service_thread();
  return TurnShare::of_caller(clock_, own);
}

void Combiner::work(Operation* own, TurnShare share) {
  while (true) {
    batch_.run(own, share);
    const bool has_more = own != nullptr || queue_.has_begun() || !queue_.empty();
    const bool is_done = has_more && share.is_done_after_batch(batch_.had_fsync());
    if (has_more && !is_done) continue;
    if (is_done && share.is_callers() && hand_over()) return;

    const bool leaves_begun = queue_.has_begun();
    turn_.release();
    if (is_manual_) service_.run_pending();
    if (turn_.take_request() || leaves_begun) service_.kick();
    if (queue_.empty()) return;
    if (is_done) return service_.kick();
    if (!turn_.try_take()) return;
    share.note_own_done();  // nothing was left
  }
}

void Combiner::run_in_turn(absl::FunctionRef<void()> run) {
  turn_.take();
  run();
  turn_.release();
  if (!is_manual_) service_.kick();  // requests may have come meanwhile, and due work
}

void Combiner::try_work(TurnShare share) {
  if (turn_.try_take()) work(nullptr, share);
}

bool Combiner::hand_over() {
  Operation* none = nullptr;
  Operation* const next = queue_.next(none);
  if (next != nullptr) queue_.put_back(*next);
  queue_.report_freed_capacity();
  if (next == nullptr || !next->takes_turn) return false;
  turn_.give_away();
  next->state.pass_turn();
  return true;
}

std::int64_t Combiner::serve() {
  if (is_closed_) return ServiceThread::kNever;
  if (!turn_.try_take_or_request()) return ServiceThread::kNever;  // its holder will kick
  work(nullptr, TurnShare::of_service_thread());
  return due_work_.next_ms();
}

}  // namespace rushgate
