#include "engine/executor/executor.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "engine/commands/clients.h"
#include "engine/commands/dispatch.h"
#include "engine/executor/executor_errors.h"

namespace rushgate {
namespace {

// The executor inside whose turn this thread is, if any.
thread_local const Executor* turn_of_this_thread = nullptr;

// The function given to run_all_and_wait(), if this thread is in it.
thread_local const absl::FunctionRef<void()>* while_busy_on_this_thread = nullptr;

// Checks for the reply before a caller sleeps: about the duration of a small batch.
constexpr int kSpins = 200;
constexpr int kYields = 20;

constexpr std::size_t kExpiredPerGroupMax = 128;

constexpr std::int64_t kNever = ServiceThread::kNever;

/// Fetches the memory of keys that will be looked for soon, some at once.
class KeyWarmer {
 public:
  explicit KeyWarmer(Keyspace& keyspace) : keyspace_(keyspace) {}

  void add(std::uint8_t db, const Request& request) {
    if (request.size() < 2) return;
    const std::string_view key = request[1];  // mostly it is one
    if (!keys_.empty() && key == keys_.back() && db == db_) return;
    if (keys_.size() == kWarmedMax || db != db_) warm();
    db_ = db;
    keys_.push_back(key);
  }

  void warm() {
    if (keys_.size() > 1) keyspace_.db(db_).warm(keys_);
    keys_.clear();
  }

 private:
  Keyspace& keyspace_;
  std::uint8_t db_ = 0;
  absl::InlinedVector<std::string_view, kWarmedMax> keys_;
};

std::uint64_t choose_seed(const EngineOptions& options) {
  if (options.seed != 0) return options.seed;
  if (options.manual_clock != nullptr) return 1;
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

LuaLimits lua_limits(const EngineOptions& options) {
  return {.busy_after_ms = options.script_busy_after_ms,
          .memory_bytes_max = options.script_memory_bytes_max,
          .cached_scripts_max = options.scripts_cached_max};
}

/// When the submitter of an operation that is in `state` stops waiting for its turn.
std::int64_t give_up_ms(const Operation& operation, std::uint32_t state) {
  const bool may_give_up = operation.deadline_ms != 0 && state != Operation::kRunning;
  return may_give_up ? operation.deadline_ms : kNever;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// ---- Life ----

Executor::Executor(std::unique_ptr<Store> store, EngineOptions options,
                   std::unique_ptr<const Clock> clock)
    : options_(std::move(options)),
      own_clock_(clock != nullptr ? std::move(clock) : std::make_unique<SystemClock>()),
      clock_(options_.manual_clock != nullptr ? options_.manual_clock : own_clock_.get()),
      durability_(store->durability()),
      queue_(options_.queue_capacity),
      store_(std::move(store)),
      keyspace_(*store_, choose_seed(options_)),
      lua_(lua_limits(options_), *this, options_.logger),
      services_{.keyspace = keyspace_,
                .lua = lua_,
                .natives = natives_,
                .sessions = sessions_,
                .channels = channels_,
                .blocked = *this,
                .sync = [this] { return sync(); },
                .roll_back_failed_scripts = options_.roll_back_failed_scripts,
                .write_refusal = {},
                .memory_bytes_max = options_.memory_bytes_max,
                .settings = {.latency_tracking = options_.latency_tracking}},
      background_sync_([this] { return store_->sync(); },
                       [this](const absl::Status& reason) { fail_store(reason); }),
      service_(
          *clock_, [this] { return serve(); }, options_.logger) {}

Executor::~Executor() { close(); }

absl::Status Executor::start(std::vector<NamedScript> scripts) {
  for (auto& [name, script] : scripts) {
    if (!natives_.add(name, std::move(script))) {
      return absl::InvalidArgumentError("two native scripts are called '" + name + "'");
    }
  }
  keyspace_.set_listener(this);
  update_time();
  services_.began_ms = keyspace_.now_ms();
  const absl::Status loaded = keyspace_.load();
  if (!loaded.ok()) return loaded;
  update_next_due();
  if (is_manual()) return loaded;
  keyspace_.lazy_free().use_thread();
  if (durability_ == Durability::kEverySec) background_sync_.start();
  service_.start();
  return loaded;
}

void Executor::close(EndOfScripts scripts) {
  if (scripts == EndOfScripts::kKill) lua_.begin_killing();  // for good
  if (closed_.exchange(true)) return;
  // The turn is taken once more, for good: earlier submissions have their replies then.
  while (!try_take_turn()) std::this_thread::yield();
  turn_of_this_thread = this;
  TurnShare everything = TurnShare::of_everything();
  do {
    Operation* none = nullptr;
    run_group(none, everything);
  } while (has_unfinished() || !queue_.empty());
  while (const auto ticket = blocked_.first()) {
    refuse(*blocked_.remove(*ticket).operation, executor_errors::kClosedText);
  }
  turn_of_this_thread = nullptr;
  refuse_late_submissions();
  service_.stop();
  background_sync_.stop();
  keyspace_.lazy_free().stop();
  if (sync_due_ms_ != kNever) sync_if_due(sync_due_ms_);
  const std::lock_guard lock(failure_mutex_);
  store_.reset();
}

void Executor::refuse_late_submissions() {
  Operation* operation = nullptr;
  while (queue_.pop(operation)) {
    if (begin(*operation)) refuse(*operation, executor_errors::kClosedText);
  }
}

void Executor::add_natives(std::span<const NamedScript> scripts) {
  for (const auto& [name, script] : scripts) natives_.add(name, script);
}

bool Executor::inside_turn() const { return turn_of_this_thread == this; }

absl::Status Executor::health() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void Executor::fail_store(const absl::Status& reason) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.ok()) failure_ = reason;
  store_failed_ = true;
}

absl::Status Executor::sync() {
  std::shared_ptr<Store> store;
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return failure_;
    store = store_;
  }
  if (store == nullptr) return absl::UnavailableError("the engine is closed");
  const absl::Status synced = store->sync();
  if (!synced.ok()) fail_store(synced);
  return synced;
}

// ---- Submitting ----

bool Executor::run_and_wait(Operation& operation, bool fail_when_full) {
  operation.reserve_replies();
  operation.submitter_serves = !is_manual() && service_.inside_callback();
  operation.takes_turn = callers_run() && !operation.submitter_serves;
  // An operation that finds the queue empty and the turn free needs no queue and no wake-up.
  if (callers_run() && queue_.empty() && !closed_.load(std::memory_order_relaxed) &&
      try_take_turn()) {
    const Operation* const own = &operation;
    work(&operation, share_of_caller({&own, 1}));
  } else {
    enqueue(operation, fail_when_full);
  }
  return wait_until_answered(operation);
}

void Executor::run_all_and_wait(std::span<Operation* const> operations,
                                absl::FunctionRef<void()> while_busy) {
  absl::InlinedVector<Operation*, 16> awaited;
  awaited.reserve(operations.size());
  for (Operation* const operation : operations) operation->reserve_replies();
  while_busy_on_this_thread = &while_busy;
  for (Operation* const operation : operations) {
    if (operation->completion == nullptr) awaited.push_back(operation);
    push(*operation, false, callers_run());
  }
  if (closed_) refuse_late_submissions();  // close() may have looked at the queue before
  if (!callers_run()) {
    service_.kick();
  } else if (try_take_turn()) {
    KeyWarmer warmer(services_.keyspace);  // those with more requests: when they run
    for (const Operation* const operation : awaited) {
      if (operation->is_answered() || operation->requests.size() > 1) continue;
      warmer.add(operation->session->db, operation->requests[0]);
    }
    warmer.warm();
    work(nullptr, share_of_caller(awaited));
  }
  for (Operation* const operation : awaited) {
    operation->takes_turn = callers_run();  // earlier ones get their replies
    wait_until_answered(*operation);
  }
  while_busy_on_this_thread = nullptr;
}

void Executor::post(std::unique_ptr<Operation> operation, bool fail_when_full) {
  operation->reserve_replies();
  enqueue(*operation.release(), fail_when_full);
  if (is_manual()) service_.run_pending();  // it may have been refused without a turn
}

void Executor::begin_session(std::shared_ptr<Session> session) {
  session->id = ++last_session_id_;
  session->began_ms = session->last_ms = clock_->now_ms();
  sessions_.add(std::move(session));
}

std::unique_ptr<Operation> Executor::make_operation(std::shared_ptr<Session> session,
                                                    Operation::Kind kind) {
  auto operation = std::make_unique<Operation>();
  operation->session = session.get();
  operation->owned_session = std::move(session);
  operation->kind = kind;
  operation->completion = [](Operation::Replies, int /*protocol*/) {};
  return operation;
}

void Executor::end_session(std::unique_ptr<Operation> session_end) {
  post(std::move(session_end), inside_turn());  // the turn's holder must not wait for space
}

void Executor::enqueue(Operation& operation, bool fail_when_full) {
  // The service thread runs operations with completions. Their submitters must not block, and may
  // be fibers, whose stacks are too small for commands.
  const bool may_run = is_manual() || (callers_run() && operation.completion == nullptr);
  if (!push(operation, fail_when_full, may_run || service_.inside_callback())) return;
  if (closed_) return refuse_late_submissions();  // close() may have looked at the queue before
  if (!may_run) return service_.kick();
  if (!try_take_turn()) return;
  const Operation* const own = &operation;
  work(nullptr, share_of_caller({&own, 1}));
}

bool Executor::push(Operation& operation, bool fail_when_full, bool may_make_room) {
  while (true) {
    const std::uint32_t seen = room_made_.load();  // before the tries: see wait_for_room()
    std::string_view refusal;
    if (closed_) {
      refusal = executor_errors::kClosedText;
    } else if (queue_.push(&operation)) {
      return true;
    } else if (fail_when_full) {
      refusal = executor_errors::kOverloadedText;
    } else if (operation.deadline_ms != 0 && clock_->monotonic_ms() >= operation.deadline_ms) {
      refusal = executor_errors::kTimedOutText;
    }
    if (!refusal.empty()) {
      refuse(operation, refusal);
      return false;
    }
    if (may_make_room && try_take_turn()) {
      work(nullptr, share_of_caller({}));
    } else {
      wait_for_room(operation, seen);
    }
  }
}

/// Sleeps until there was space after `seen` was read.
void Executor::wait_for_room(const Operation& operation, std::uint32_t seen) {
  // The turn's last holder may have left the rest to the service thread, which may be in a
  // callback.
  constexpr std::int64_t kLookAgainMs = 10;
  std::int64_t sleep_ms = kLookAgainMs;
  if (operation.deadline_ms != 0) {
    sleep_ms =
        std::clamp<std::int64_t>(operation.deadline_ms - clock_->monotonic_ms(), 0, kLookAgainMs);
  }
  ++waiting_for_room_;
  service_.kick();
  futex_wait(room_made_, seen, sleep_ms);
  --waiting_for_room_;
}

void Executor::report_free_capacity() {
  room_made_.fetch_add(1);
  if (waiting_for_room_.load() != 0) futex_wake(&room_made_);
}

bool Executor::wait_until_answered(Operation& operation) {
  if (operation.submitter_serves) return serve_until_answered(operation);
  while (true) {
    const Operation::State news = wait_for_news(operation);
    if (news != Operation::kHasTurn) return news == Operation::kAnswered;
    operation.state = Operation::kRunning;
    const Operation* const own = &operation;
    work(nullptr, share_of_caller({&own, 1}));  // it is unfinished_
  }
}

Operation::State Executor::wait_for_news(Operation& operation) {
  const auto has_news = [](std::uint32_t state) {
    return state == Operation::kAnswered || state == Operation::kHasTurn;
  };
  for (int i = 0; i < kSpins + kYields; ++i) {
    const std::uint32_t state = operation.state.load(std::memory_order_acquire);
    if (has_news(state)) return Operation::State{state};
    if (i < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
  while (true) {
    std::uint32_t state = operation.state.load(std::memory_order_acquire);
    if (has_news(state)) return Operation::State{state};
    std::int64_t sleep_ms = -1;
    if (const std::int64_t end_ms = give_up_ms(operation, state); end_ms != kNever) {
      sleep_ms = end_ms - clock_->monotonic_ms();
      if (sleep_ms <= 0) {
        if (operation.state.compare_exchange_strong(state, Operation::kAbandoned)) {
          return Operation::kAbandoned;
        }
        continue;
      }
    }
    if (state == Operation::kQueued) {
      if (!operation.state.compare_exchange_strong(state, Operation::kSleeping)) continue;
      state = Operation::kSleeping;
    }
    futex_wait(operation.state, state, sleep_ms);
  }
}

bool Executor::serve_until_answered(Operation& operation) {
  while (true) {
    const std::uint32_t look = service_.begin_look();
    std::uint32_t state = operation.state.load(std::memory_order_acquire);
    if (state == Operation::kAnswered) return true;
    const std::int64_t end_ms = give_up_ms(operation, state);
    if (end_ms > clock_->monotonic_ms()) {
      service_.sleep(look, std::min(serve(), end_ms));
    } else if (operation.state.compare_exchange_strong(state, Operation::kAbandoned)) {
      return false;
    }
  }
}

void Executor::refuse(Operation& operation, std::string_view error) {
  operation.fail_rest(error);
  answer(operation);
}

void Executor::answer(Operation& operation) {
  if (operation.completion != nullptr) {
    service_.complete(std::unique_ptr<Operation>(&operation));
    return;
  }
  // The submitter may be gone with the operation as soon as the state is set.
  const bool submitter_serves = operation.submitter_serves;
  const std::uint32_t before =
      operation.state.exchange(Operation::kAnswered, std::memory_order_acq_rel);
  if (submitter_serves) return service_.kick();
  if (before != Operation::kQueued) futex_wake(&operation.state);
}

// ---- The turn ----

void Executor::release_turn() {
  turn_of_this_thread = nullptr;
  turn_.exchange(false);  // a full fence: the looks at the queue and at service_waits_ that follow
                          // must not come before it
}

TurnShare Executor::share_of_caller(std::span<const Operation* const> own) const {
  if (is_manual()) return TurnShare::of_everything();
  if (service_.inside_callback()) return TurnShare::of_service_thread();
  return TurnShare::of_caller(*clock_, own);
}

void Executor::work(Operation* own, TurnShare share) {
  while (true) {
    turn_of_this_thread = this;
    run_group(own, share);
    const bool has_more = own != nullptr || has_unfinished() || !queue_.empty();
    const bool is_done = has_more && share.is_done_after_batch(had_fsync_);
    if (has_more && !is_done) continue;
    if (is_done && share.is_callers() && hand_over()) return;

    const bool leaves_unfinished = has_unfinished();
    release_turn();
    if (is_manual()) service_.run_pending();
    const bool service_waits = service_waits_.load() && service_waits_.exchange(false);
    if (service_waits || leaves_unfinished) service_.kick();
    if (queue_.empty()) return;
    if (is_done) return service_.kick();
    if (!try_take_turn()) return;
    share.note_own_done();  // nothing was left
  }
}

bool Executor::hand_over() {
  Operation* none = nullptr;
  unfinished_ = next_operation(none);
  if (std::exchange(freed_capacity_, false)) report_free_capacity();
  if (unfinished_ == nullptr || !unfinished_->takes_turn) return false;
  Operation& next = *unfinished_;
  turn_of_this_thread = nullptr;
  // From here on the submitter may take the turn, and be gone with the operation.
  const std::uint32_t before = next.state.exchange(Operation::kHasTurn, std::memory_order_acq_rel);
  if (before != Operation::kQueued) futex_wake(&next.state);
  return true;
}

std::int64_t Executor::serve() {
  if (closed_) return kNever;
  if (!try_take_turn()) {
    service_waits_ = true;
    if (!try_take_turn()) return kNever;  // its holder sees service_waits_ when releasing it
    service_waits_ = false;
  }
  work(nullptr, TurnShare::of_service_thread());
  return next_due_ms_;
}

void Executor::advance_ms(std::int64_t duration_ms) {
  assert(is_manual());
  ManualClock& clock = *options_.manual_clock;
  const std::int64_t end_ms = clock.monotonic_ms() + duration_ms;
  while (true) {
    service_.run_pending();
    const std::int64_t due_ms =
        std::min({next_due_ms_.load(), service_.next_timer_ms(), sync_due_ms_});
    if (due_ms == kNever || due_ms > end_ms) break;
    clock.advance_ms(std::max<std::int64_t>(0, due_ms - clock.monotonic_ms()));
    sync_if_due(clock.monotonic_ms());
    if (try_take_turn()) work(nullptr, TurnShare::of_everything());
    service_.run_pending();
  }
  clock.advance_ms(std::max<std::int64_t>(0, end_ms - clock.monotonic_ms()));
}

// ---- A group ----

void Executor::run_group(Operation*& own, TurnShare& share) {
  is_group_kept_ = false;
  try {
    fill_group(own, share);
    commit_group();
  } catch (...) {
    abandon_group(own);
  }
}

/// Ends a batch in which code outside its requests has thrown. The turn continues.
void Executor::abandon_group(Operation*& own) {
  constexpr std::string_view kError = "ERR internal error: the commit batch was abandoned";
  if (!is_group_kept_) {
    keyspace_.changes().roll_back_to({});
    fail_group(kError);
  }
  if (own != nullptr) refuse(*std::exchange(own, nullptr), kError);
  answer_group();
}

void Executor::fill_group(Operation*& own, TurnShare& share) {
  group_requests_ = 0;
  after_expiry_ = keyspace_.changes().savepoint();
  update_time();
  if (store_failed_ && services_.write_refusal.empty()) {
    services_.write_refusal = executor_errors::write_refusal(health());
  }
  const std::int64_t due_ms = next_due_ms_.load(std::memory_order_relaxed);
  if (due_ms != kNever && clock_->monotonic_ms() >= due_ms) fire_due();
  while (group_requests_ < options_.group_requests_max && !share.is_over()) {
    Operation* const operation = next_operation(own);
    if (operation == nullptr) break;
    run_requests(*operation, share);
  }
}

Operation* Executor::next_operation(Operation*& own) {
  if (unfinished_ != nullptr) return std::exchange(unfinished_, nullptr);
  if (!resumed_.empty()) return resumed_.pop_front();
  if (own != nullptr) {
    Operation* const operation = std::exchange(own, nullptr);
    if (begin(*operation)) return operation;
  }
  Operation* operation = nullptr;
  while (queue_.pop(operation)) {
    freed_capacity_ = true;
    if (begin(*operation)) return operation;
  }
  return nullptr;
}

bool Executor::begin(Operation& operation) {
  if (operation.deadline_ms != 0) {
    std::uint32_t state = operation.state.load(std::memory_order_acquire);
    while (state != Operation::kAbandoned &&
           !operation.state.compare_exchange_weak(state, Operation::kRunning,
                                                  std::memory_order_acq_rel)) {
    }
    if (state == Operation::kAbandoned) {
      delete &operation;
      return false;
    }
    if (state == Operation::kSleeping)
      futex_wake(&operation.state);  // it sleeps on another value now
    if (clock_->monotonic_ms() >= operation.deadline_ms) {
      refuse(operation, executor_errors::kTimedOutText);
      return false;
    }
  }
  return true;
}

std::optional<Reply> Executor::attempt(absl::FunctionRef<void()> part) {
  const Changes::Savepoint savepoint = keyspace_.changes().savepoint();
  Reply error;
  try {
    part();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    error = Reply::error(executor_errors::kOutOfMemoryText);
  } catch (const std::length_error&) {  // more than any memory could hold
    error = Reply::error(executor_errors::kOutOfMemoryText);
  } catch (const std::exception& failure) {
    error = Reply::error(executor_errors::internal(failure.what()));
  } catch (...) {
    error = Reply::error(executor_errors::internal("unknown exception"));
  }
  keyspace_.changes().roll_back_to(savepoint);
  return error;
}

void Executor::run_requests(Operation& operation, TurnShare& share) {
  join_group(operation);
  Session& session = *operation.session;
  if (operation.kind == Operation::Kind::kUnblock) unblock(session.id, std::nullopt);
  if (operation.kind == Operation::Kind::kEndSession)
    return rushgate::end_session(services_, session);
  if (session.is_ended || !takes_reply(operation)) {
    return operation.fail_rest(executor_errors::kKilledText);
  }
  ReplyBudget* const budget = operation.reply_budget;
  const bool is_foreign = share.has_own_run();
  while (!operation.finished()) {
    if (budget != nullptr && budget->is_spent()) return operation.drop_rest();
    if (group_requests_ >= options_.group_requests_max ||
        (is_foreign && share.ends_before_foreign_request())) {
      unfinished_ = &operation;
      return;
    }
    const std::size_t answered = operation.replies.size();
    const auto left = operation.requests.subspan(answered);
    if (answered % kWarmedMax == 0 && left.size() > 1) {
      warm_keys(session, left.first(std::min(left.size(), kWarmedMax)));
    }
    run_request(operation, operation.requests[answered]);
    operation.protocol = session.protocol;
    if (!signalled_.empty()) serve_signalled();
    if (operation.replies.size() == answered) return;  // blocked
    if (budget != nullptr) budget->charge(memory_bytes(operation.replies.back()));
  }
}

bool Executor::takes_reply(const Operation& operation) {
  const Session& session = *operation.session;
  if (operation.completion == nullptr || operation.requests.empty()) return true;
  return session.outlet == nullptr || session.is_protected || session.outlet->takes_reply();
}

void Executor::warm_keys(const Session& session, std::span<const Request> requests) {
  KeyWarmer warmer(services_.keyspace);
  for (const Request& request : requests) warmer.add(session.db, request);
  warmer.warm();
}

void Executor::run_request(Operation& operation, const Request& request) {
  ++group_requests_;
  if (request.empty()) {
    operation.replies.push_back(executor_errors::reply(executor_errors::kEmptyRequestText));
    return;
  }
  Session& session = *operation.session;
  Reply reply;
  bool is_blocked = false;
  std::optional<Reply> error = attempt([&] {
    CommandContext context(services_, session, request, CommandContext::Origin::kClient, false);
    reply = run_client_command(context);
    if (!context.block_request()) return;
    if (is_manual() && operation.completion == nullptr) {
      // The one thread there is would wait for itself.
      reply = std::move(context.block_request()->on_timeout);
      return;
    }
    blocked_.add(operation, session.db, std::move(*context.block_request()),
                 clock_->monotonic_ms());
    operation.is_blocked = is_blocked = true;
  });
  if (is_blocked) return;
  if (error && session.transaction) session.transaction->is_broken = true;
  give(operation, error ? *std::move(error) : std::move(reply));
}

void Executor::give(Operation& operation, Reply&& reply) {
  ++operation.session->replies;
  operation.replies.push_back(std::move(reply));
  Reply& given = operation.replies.back();
  // The confirmations of SUBSCRIBE and its like come all the same.
  if (wants_no_answer(*operation.session) && given.kind() != Reply::Kind::kSeveral) {
    given = no_reply();
  }
  const bool is_awaited = operation.completion == nullptr;
  if (!is_awaited && operation.session->outlet != nullptr) {
    operation.session->outlet->note_reply(given);
  }
}

void Executor::join_group(Operation& operation) {
  if (std::exchange(operation.in_group, true)) return;
  operation.group_begin = operation.replies.size();
  in_group_.push_back(operation);
}

void Executor::commit_group() {
  const bool changed = !keyspace_.changes().empty();
  had_fsync_ = false;
  if (changed) {
    // A key whose removal is lost expires again.
    const bool only_expired = !keyspace_.changes().changed_since(after_expiry_);
    if (only_expired) keyspace_.changes().records().defer_sync();
    if (!services_.write_refusal.empty()) {
      channels_.send();
      keyspace_.changes().roll_back_to(
          {});  // nothing but keys that expired: reads go on, writes are refused
    } else {
      absl::Status kept;
      if (const auto error = attempt([&] { kept = keyspace_.commit(); })) {
        fail_group(error->text());
      } else if (!kept.ok()) {
        fail_store(kept);
        fail_group(executor_errors::outcome_unknown(kept));
      } else {
        had_fsync_ = durability_ == Durability::kSync && !only_expired;
        note_write();
      }
    }
  }
  is_group_kept_ = true;
  kept_bytes_.store(keyspace_.kept_bytes(), std::memory_order_relaxed);
  if (changed || !blocked_.empty() || next_due_ms_.load(std::memory_order_relaxed) != kNever) {
    update_next_due();
  }

  answer_group();
}

void Executor::answer_group() {
  if (channels_.waiting() > 0) channels_.send();
  while (Operation* const operation = in_group_.pop_front()) {
    operation->in_group = false;
    if (operation->finished()) answer(*operation);
  }
  if (std::exchange(freed_capacity_, false)) report_free_capacity();
}

void Executor::note_write() {
  if (durability_ != Durability::kEverySec) return;
  if (!is_manual()) return background_sync_.note_write();
  if (sync_due_ms_ == kNever) sync_due_ms_ = clock_->monotonic_ms() + BackgroundSync::kEveryMs;
}

/// Manual mode: does the work of background_sync_'s thread.
void Executor::sync_if_due(std::int64_t monotonic_ms) {
  if (sync_due_ms_ > monotonic_ms) return;
  sync_due_ms_ = kNever;
  static_cast<void>(sync());  // a failure is kept: health()
}

void Executor::fail_group(std::string_view error) {
  in_group_.for_each([error](Operation& operation) {
    for (std::size_t i = operation.group_begin; i < operation.replies.size(); ++i) {
      Reply& reply = operation.replies[i];
      if (!is_no_reply(reply)) reply = executor_errors::reply(error);
    }
  });
}

// ---- Time ----

void Executor::update_time() { keyspace_.set_now_ms(clock_->now_ms()); }

void Executor::fire_due() {
  if (services_.write_refusal.empty()) {
    lacks_memory_ = attempt([this] { keyspace_.remove_expired(kExpiredPerGroupMax); }).has_value();
    after_expiry_ = keyspace_.changes().savepoint();
  }
  while (const auto ticket = blocked_.first_due(clock_->monotonic_ms())) {
    finish_blocked(*ticket, std::move(blocked_.find(*ticket)->block.on_timeout));
  }
  serve_signalled();
}

void Executor::update_next_due() {
  std::int64_t due_ms = blocked_.next_deadline_ms().value_or(kNever);
  if (const auto expiry_ms = keyspace_.next_expiry_ms();
      expiry_ms && services_.write_refusal.empty()) {
    // Expiry follows the time of day, sleep the monotonic clock. One check a second covers changes
    // of the time of day.
    constexpr std::int64_t kLookAgainMs = 1'000;
    const std::int64_t left_ms = std::max<std::int64_t>(0, *expiry_ms - keyspace_.now_ms());
    const std::int64_t wanted_ms = is_manual() ? left_ms : std::min(left_ms, kLookAgainMs);
    const std::int64_t sleep_ms = lacks_memory_ ? kLookAgainMs : wanted_ms;
    due_ms = std::min(due_ms, clock_->monotonic_ms() + sleep_ms);
  }
  const std::int64_t previous_ms = next_due_ms_.load(std::memory_order_relaxed);
  next_due_ms_.store(due_ms, std::memory_order_relaxed);
  if (due_ms < previous_ms && !is_manual()) service_.wake_by(due_ms);
}

// ---- Blocked operations ----

void Executor::key_signalled(std::uint8_t db, std::string_view key, KeySignal what) {
  if (!blocked_.anyone_waits_for(db, key)) return;
  Signalled signalled{db, std::string(key), what};
  const bool is_repeated = !signalled_.empty() && signalled_.back() == signalled;
  if (!is_repeated) signalled_.push_back(std::move(signalled));
}

/// Serves the signalled keys in order. A served client may signal further keys (BLMOVE), which are
/// served after these.
void Executor::serve_signalled() {
  while (!signalled_.empty()) {
    for (const Signalled& signalled : std::exchange(signalled_, {})) serve(signalled);
  }
}

void Executor::serve(const Signalled& signalled) {
  const auto& [db, key, what] = signalled;
  const auto is_there_now = [&] {
    bool is_there = false;
    attempt([&] {  // it may expire by this
      is_there = keyspace_.db(signalled.db).find(signalled.key) != nullptr;
    });
    return is_there;
  };
  const bool is_there = is_there_now();
  auto ticket = blocked_.next_waiting(db, key);
  for (; ticket; ticket = blocked_.next_waiting(db, key, *ticket)) {
    const bool is_served = retry_blocked(*ticket, key);
    if (!is_served || !is_there || what == KeySignal::kGone) continue;
    // The key is empty now: stop serving waiters.
    if (!is_there_now()) return;
  }
}

/// False if it waits on.
bool Executor::retry_blocked(std::uint64_t ticket, std::string_view ready_key) {
  const BlockedOperations::Blocked& blocked = *blocked_.find(ticket);
  if (!takes_reply(*blocked.operation)) return false;
  Reply reply;
  bool waits_on = false;
  std::optional<Reply> error = attempt([&] {
    CommandContext context(services_, *blocked.operation->session, blocked.block.retry,
                           CommandContext::Origin::kClient, false, ready_key);
    reply = run_command(context);
    waits_on = context.block_request().has_value();
  });
  if (waits_on) return false;
  ++group_requests_;
  finish_blocked(ticket, error ? *std::move(error) : std::move(reply));
  return true;
}

bool Executor::is_blocked(std::uint64_t session_id) const {
  return blocked_.find_session(session_id).has_value();
}

bool Executor::unblock(std::uint64_t session_id, std::optional<Reply> error) {
  bool was_blocked = false;
  while (const auto ticket = blocked_.find_session(session_id)) {
    finish_blocked(*ticket, error ? *error : std::move(blocked_.find(*ticket)->block.on_timeout));
    was_blocked = true;
  }
  return was_blocked;
}

void Executor::finish_blocked(std::uint64_t ticket, Reply reply) {
  Operation& operation = *blocked_.remove(ticket).operation;
  operation.is_blocked = false;
  join_group(operation);
  give(operation, std::move(reply));
  if (!operation.finished()) resumed_.push_back(operation);
}

// ---- While a script is over its time ----

bool Executor::poll() {
  Operation* operation = nullptr;
  while (queue_.pop(operation)) {
    report_free_capacity();
    if (operation->kind != Operation::Kind::kRequests) {
      resumed_.push_back(*operation);  // after the script
    } else if (begin(*operation)) {
      answer_busy(*operation);
    }
  }
  if (while_busy_on_this_thread != nullptr) (*while_busy_on_this_thread)();
  return services_.running_script != nullptr && services_.running_script->kill;
}

void Executor::answer_busy(Operation& operation) {
  if (operation.session->is_ended) operation.fail_rest(executor_errors::kKilledText);
  while (!operation.finished()) {
    const Request& request = operation.requests[operation.replies.size()];
    Reply reply;
    std::optional<Reply> error = attempt([&] {
      CommandContext context(services_, *operation.session, request,
                             CommandContext::Origin::kClient, false);
      reply = request.empty() ? executor_errors::reply(executor_errors::kEmptyRequestText)
                              : run_client_command(context);
    });
    give(operation, error ? *std::move(error) : std::move(reply));
    operation.protocol = operation.session->protocol;
  }
  answer(operation);
}

}  // namespace rushgate
