#include "engine/redis/executor/executor.h"

#include <algorithm>
#include <cassert>
#include <random>
#include <string>
#include <utility>

#include "engine/core/base/sha1.h"
#include "engine/redis/executor/executor_errors.h"
#include "engine/redis/script/function_registry.h"

namespace rushgate {
namespace {

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

}  // namespace

Executor::Executor(std::unique_ptr<Store> store, EngineOptions options,
                   std::unique_ptr<const Clock> clock)
    : options_(std::move(options)),
      own_clock_(clock != nullptr ? std::move(clock) : std::make_unique<SystemClock>()),
      clock_(options_.manual_clock != nullptr ? options_.manual_clock : own_clock_.get()),
      store_(std::move(store), *clock_, is_manual()),
      keyspace_(store_.store(), choose_seed(options_)),
      lua_(lua_limits(options_), busy_replies_, options_.logger),
      services_{.keyspace = keyspace_,
                .lua = lua_,
                .natives = natives_,
                .sessions = sessions_,
                .channels = channels_,
                .tracking = tracking_,
                .blocked = unblocker_,
                .sync = [this] { return store_.sync(); },
                .roll_back_failed_scripts = options_.roll_back_failed_scripts,
                .write_refusal = {},
                .memory_bytes_max = options_.memory_bytes_max,
                .commits = &store_.counts(),
                .settings = {.latency_tracking = options_.latency_tracking,
                             .slowlog_log_slower_than_us = options_.slowlog_log_slower_than_us,
                             .debug_commands = options_.debug_commands}},
      sender_(service_),
      queue_(options_.queue_capacity, *clock_, sender_),
      unblocker_(services_, batch_operations_, queue_),
      busy_replies_(services_, queue_, sender_),
      due_work_(services_, unblocker_, *clock_, service_, is_manual()),
      batch_({.options = options_,
              .clock = *clock_,
              .store = store_,
              .services = services_,
              .queue = queue_,
              .operations = batch_operations_,
              .unblocker = unblocker_,
              .due_work = due_work_,
              .sender = sender_}),
      combiner_({.options = options_,
                 .clock = *clock_,
                 .queue = queue_,
                 .batch = batch_,
                 .due_work = due_work_,
                 .sender = sender_,
                 .service = service_}),
      service_(
          *clock_, [this] { return combiner_.serve(); }, options_.logger),
      recovery_(
          store_, *clock_, is_manual(),
          [this](absl::FunctionRef<void()> run) { combiner_.run_in_turn(run); },
          [this] { note_end_of_failure(); }) {}

Executor::~Executor() { close(); }

absl::Status Executor::start(std::vector<NamedScript> scripts) {
  for (auto& [name, script] : scripts) {
    if (!natives_.add(name, std::move(script))) {
      return absl::InvalidArgumentError("two native scripts are called '" + name + "'");
    }
  }
  keyspace_.set_listener(&unblocker_);
  keyspace_.events().set_listener(&key_events_);
  keyspace_.set_now_ms(clock_->now_ms());
  services_.began_ms = services_.saved_ms = keyspace_.now_ms();
  services_.run_id = sha1_hex(std::to_string(keyspace_.seed()));
  absl::Status loaded = keyspace_.load();
  if (loaded.ok()) loaded = lua_.functions().open(lua_, keyspace_.take_libraries());
  if (!loaded.ok()) return loaded;
  due_work_.plan_next();
  if (is_manual()) return loaded;
  keyspace_.lazy_free().use_thread();
  store_.start();
  service_.start();
  recovery_.start();
  return loaded;
}

void Executor::close(EndOfScripts scripts) {
  if (scripts == EndOfScripts::kKill) lua_.begin_killing();  // for good
  recovery_.stop();  // it needs the turn, which the next line takes for good
  if (!combiner_.close()) return;
  service_.stop();
  keyspace_.lazy_free().stop();
  store_.close();
}

/// Accepts writes again, or refuses them for good. Runs in the turn.
void Executor::note_end_of_failure() {
  const absl::Status health = store_.health();
  services_.write_refusal = health.ok() ? "" : executor_errors::write_refusal(health);
  due_work_.plan_next();
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

void Executor::add_natives(std::span<const NamedScript> scripts) {
  for (const auto& [name, script] : scripts) natives_.add(name, script);
}

void Executor::advance_ms(std::int64_t duration_ms) {
  assert(is_manual());
  ManualClock& clock = *options_.manual_clock;
  const std::int64_t end_ms = clock.monotonic_ms() + duration_ms;
  while (true) {
    service_.run_pending();
    const std::int64_t due_ms = std::min(
        {due_work_.next_ms(), service_.next_timer_ms(), store_.sync_due_ms(), recovery_.due_ms()});
    if (due_ms == ServiceThread::kNever || due_ms > end_ms) break;
    clock.advance_ms(std::max<std::int64_t>(0, due_ms - clock.monotonic_ms()));
    store_.sync_if_due(clock.monotonic_ms());
    recovery_.run_if_due(clock.monotonic_ms());
    combiner_.try_work(TurnShare::of_everything());
    service_.run_pending();
  }
  clock.advance_ms(std::max<std::int64_t>(0, end_ms - clock.monotonic_ms()));
}

}  // namespace rushgate
