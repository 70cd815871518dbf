#include "engine/recipes/locks/lock_core.h"

#include <array>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/core/client/thread_wait.h"
#include "engine/recipes/locks/client_identity.h"
#include "engine/recipes/locks/lock_names.h"
#include "engine/recipes/locks/lock_scripts.h"
#include "engine/recipes/locks/lock_wait.h"
#include "engine/recipes/locks/release_common.lua.h"
#include "engine/recipes/locks/semaphore_scripts.h"
#include "engine/recipes/locks/wait_for.h"

namespace rushgate {
namespace {

/// The life of a latch that its process does not delete: longer than a release is repeated.
constexpr std::string_view kLatchMs = "15000";
constexpr int kReleaseAttempts = 3;

absl::Status closed() { return absl::CancelledError("the lock's manager is gone"); }

LockHold hold_of(const LockWish& wish) {
  return {.name = wish.name, .kind = wish.kind, .owner = wish.owner};
}

std::vector<std::string_view> views_of(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

absl::StatusOr<std::int64_t> read_count(const Reply& reply) {
  if (reply.is_nil()) return 0;
  std::int64_t count = 0;
  if (reply.is_error()) return to_status(reply, "reading a count");
  if (absl::SimpleAtoi(reply.text(), &count)) return count;
  return absl::FailedPreconditionError("the count of a latch or semaphore is no number: " +
                                       reply.text());
}

absl::StatusOr<LockCore::Attempt> read_latch(const Reply& reply) {
  ASSIGN_OR_RETURN(const auto count, read_count(reply));
  return LockCore::Attempt{.is_acquired = count <= 0, .lease_left_ms = -1};
}

const Script& acquire_script_of(LockKind kind) {
  if (kind == LockKind::kSemaphore) return acquire_permits_script();
  if (kind == LockKind::kPlainSemaphore) return acquire_count_script();
  return scripts_of(kind).acquire;
}

std::optional<std::int64_t> deadline_of(const Clock& clock, std::int64_t wait_ms) {
  if (wait_ms < 0) return std::nullopt;
  return clock.monotonic_ms() + wait_ms;
}

}  // namespace

/// An embedded engine loses no reply, so a release needs no latch there.
LockCore::LockCore(Backend& backend, LockManagerOptions options)
    : clock_(backend.clock()),
      scheduler_(backend.scheduler()),
      options_(std::move(options)),
      can_lose_replies_(!backend.capabilities().runs_native_scripts),
      has_slots_(backend.capabilities().has_slots),
      client_(backend.open_client(options_.client)),
      channels_(std::make_shared<LockChannels>()),
      leases_(std::make_shared<LockLeases>(
          backend, client_, options_,
          // A lease ends without a message, and the other waiters of this process may not know it.
          [channels = channels_, on_lost = options_.on_lost](const LockHold& hold) {
            channels->wake(channel_of(hold.kind, hold.name));
            if (on_lost) on_lost(hold.name, hold.owner);
          })) {
  channels_->open(backend, has_slots_);
}

void LockCore::close() {
  std::set<std::shared_ptr<LockWait>> waits;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    waits.swap(waits_);
  }
  leases_->close();
  for (const auto& wait : waits) wait->finish(closed());
}

bool LockCore::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

std::uint64_t LockCore::caller() const { return wait_method(options_.client.wait).caller_number(); }

// ---- Acquisitions ----

std::int64_t LockCore::lease_of(const LockWish& wish) const {
  return wish.lease_ms > 0 ? wish.lease_ms : options_.watchdog_lease_ms;
}

std::vector<std::string> LockCore::arguments_of(const LockWish& wish) const {
  if (wish.kind == LockKind::kSemaphore) {
    std::vector<std::string> arguments = {std::to_string(wish.lease_ms)};
    arguments.insert(arguments.end(), wish.permits.begin(), wish.permits.end());
    return arguments;
  }
  if (wish.kind == LockKind::kPlainSemaphore) return {std::to_string(wish.count)};
  std::vector<std::string> arguments = {std::to_string(lease_of(wish)),
                                        owner_name(options_.client_id, wish.owner)};
  if (wish.kind == LockKind::kFair) arguments.push_back(std::to_string(wish.queue_ms));
  return arguments;
}

Request LockCore::request_of(const LockWish& wish, bool by_text) const {
  const Script& script = form_of(acquire_script_of(wish.kind));
  const std::vector<std::string> keys = keys_of(wish.kind, wish.name);
  const std::vector<std::string> arguments = arguments_of(wish);
  if (by_text) {
    return make_script_request("EVAL", script.text(), views_of(keys), views_of(arguments));
  }
  return client_->script_request(script, views_of(keys), views_of(arguments));
}

absl::StatusOr<LockCore::Attempt> LockCore::read(const LockWish& wish, std::int64_t sent_at_ms,
                                                 const Reply& reply) {
  if (reply.elements().size() != 2 && !has_owner(wish.kind)) {
    return to_status(reply, "acquiring a permit");
  }
  if (reply.elements().size() != 2) {
    leases_->lease_may_be(hold_of(wish), sent_at_ms, lease_of(wish));
    return to_status(reply, "locking");
  }
  const std::int64_t number = reply.elements()[1].integer();
  if (reply.elements()[0].integer() == 0) return Attempt{.lease_left_ms = number};
  if (is_closed()) return closed();
  if (!has_owner(wish.kind)) return Attempt{.is_acquired = true};
  leases_->add(hold_of(wish), sent_at_ms, lease_of(wish), wish.lease_ms <= 0, number);
  return Attempt{.is_acquired = true};
}

absl::StatusOr<LockCore::Attempt> LockCore::attempt(const LockWish& wish) {
  if (is_closed()) return closed();
  if (wish.kind == LockKind::kLatch) return read_latch((*client_)("GET", wish.name));
  const std::int64_t sent_at_ms = clock_.monotonic_ms();
  Reply reply = client_->call(request_of(wish, false));
  if (has_code(reply, redis_error_code::kNoScript)) reply = client_->call(request_of(wish, true));
  return read(wish, sent_at_ms, reply);
}

void LockCore::attempt_async(const LockWish& wish,
                             absl::AnyInvocable<void(absl::StatusOr<Attempt>)> done) {
  if (is_closed()) return done(closed());
  if (wish.kind == LockKind::kLatch) {
    return client_->submit(
        Request::of("GET", wish.name),
        [done = std::move(done)](const Reply& reply) mutable { done(read_latch(reply)); });
  }
  const std::int64_t sent_at_ms = clock_.monotonic_ms();
  client_->submit(request_of(wish, true),
                  [self = shared_from_this(), wish, sent_at_ms, done = std::move(done)](
                      const Reply& reply) mutable { done(self->read(wish, sent_at_ms, reply)); });
}

absl::StatusOr<bool> LockCore::acquire(LockWish wish, std::int64_t wait_ms) {
  const auto deadline_ms = deadline_of(clock_, wait_ms);
  ASSIGN_OR_RETURN(const auto first, attempt(wish));
  if (first.is_acquired || wait_ms == 0) return first.is_acquired;
  return wait_for<absl::StatusOr<bool>>(options_.client.wait, [&](Callback done) {
    wait(std::move(wish), deadline_ms, std::move(done));
  });
}

void LockCore::acquire_async(LockWish wish, std::int64_t wait_ms, Callback done) {
  const auto deadline_ms = deadline_of(clock_, wait_ms);
  attempt_async(wish, [self = shared_from_this(), wish, wait_ms, deadline_ms,
                       done = std::move(done)](absl::StatusOr<Attempt> first) mutable {
    if (!first.ok()) return done(first.status());
    if (first->is_acquired || wait_ms == 0) return done(first->is_acquired);
    self->wait(std::move(wish), deadline_ms, std::move(done));
  });
}

void LockCore::wait(LockWish wish, std::optional<std::int64_t> deadline_ms, Callback done) {
  const auto wait =
      std::make_shared<LockWait>(shared_from_this(), std::move(wish), deadline_ms, std::move(done));
  bool is_open = false;
  {
    const std::lock_guard lock(mutex_);
    is_open = !is_closed_;
    if (is_open) waits_.insert(wait);
  }
  if (!is_open) return wait->finish(closed());
  wait->start();
}

void LockCore::remove(const std::shared_ptr<LockWait>& wait) {
  const std::lock_guard lock(mutex_);
  waits_.erase(wait);
}

std::string LockCore::wait_channel(const LockWish& wish) const {
  std::string channel = channel_of(wish.kind, wish.name);
  if (wish.kind == LockKind::kFair) channel += ':' + owner_name(options_.client_id, wish.owner);
  return channel;
}

/// Does not wait for the reply: an owner that stays in the queue is dropped in time.
void LockCore::leave_queue(const LockWish& wish) {
  if (is_closed()) return;
  const std::vector<std::string> keys = keys_of(wish.kind, wish.name);
  const std::string owner = owner_name(options_.client_id, wish.owner);
  const std::string queue_ms = std::to_string(wish.queue_ms);
  const std::array<std::string_view, 2> arguments = {owner, queue_ms};
  client_->submit(
      make_script_request("EVAL", form_of(leave_queue_script()).text(), views_of(keys), arguments),
      [](const Reply&) {});
}

// ---- Releases ----

absl::Status LockCore::release(const LockHold& hold) {
  while (true) {
    const auto is_held = release_once(hold);
    const bool is_as_expected = leases_->end_release(hold, is_held.value_or(false));
    if (!is_held.ok()) return is_held.status();
    if (is_as_expected) return absl::OkStatus();
  }
}

absl::StatusOr<bool> LockCore::release_once(const LockHold& hold) {
  std::vector<std::string> keys = keys_of(hold.kind, hold.name);
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return closed();
    if (can_lose_replies_) {
      keys.push_back(tagged_name("redisson_unlock_latch", hold.name) + ':' + options_.client_id +
                     '-' + std::to_string(++releases_));
    }
  }
  const std::string owner = owner_name(options_.client_id, hold.owner);
  const std::string lease_ms =
      std::to_string(leases_->begin_release(hold).value_or(options_.watchdog_lease_ms));
  std::vector<std::string_view> arguments = {owner, lease_ms};
  if (can_lose_replies_) arguments.push_back(kLatchMs);

  Reply reply;
  absl::Status failure;
  for (int attempts = 0; attempts < kReleaseAttempts; ++attempts) {
    reply = client_->run(form_of(scripts_of(hold.kind).release), views_of(keys), arguments);
    failure = reply.is_error() ? to_status(reply, "unlocking") : absl::OkStatus();
    if (!can_lose_replies_ || !absl::IsUnavailable(failure)) break;
  }
  if (!failure.ok()) return failure;
  if (can_lose_replies_) client_->submit(Request::of("DEL", keys.back()), [](const Reply&) {});
  if (reply.is_integer()) return reply.integer() == lua::release_common::kStillHeld;
  return not_held(hold);
}

absl::Status LockCore::not_held(const LockHold& hold) const {
  return absl::FailedPreconditionError("the lock " + hold.name + " is not held by " +
                                       owner_name(options_.client_id, hold.owner));
}

absl::Status LockCore::set_lease(const LockHold& hold, std::int64_t lease_ms) {
  if (is_closed()) return closed();
  const std::int64_t sent_at_ms = clock_.monotonic_ms();
  const std::vector<std::string> keys = keys_of(hold.kind, hold.name);
  const std::string owner = owner_name(options_.client_id, hold.owner);
  const std::string lease = std::to_string(lease_ms);
  const std::array<std::string_view, 2> arguments = {lease, owner};
  const Reply reply = client_->run(scripts_of(hold.kind).renew, views_of(keys), arguments);
  if (!reply.is_integer()) {
    leases_->lease_may_be(hold, sent_at_ms, lease_ms);
    return to_status(reply, "setting a lease");
  }
  if (reply.integer() == 0) return not_held(hold);
  leases_->set_lease(hold, sent_at_ms, lease_ms);
  return absl::OkStatus();
}

// ---- Any owner's holds ----

absl::StatusOr<LockState> LockCore::state(const LockHold& hold) {
  const std::string field = field_of(hold.kind, owner_name(options_.client_id, hold.owner));
  std::vector<std::string_view> arguments = {field};
  if (const std::string_view mode = mode_of(hold.kind); !mode.empty()) arguments.push_back(mode);
  const auto reply =
      run_for({.name = hold.name, .kind = hold.kind}, lock_state_script(), arguments);
  if (!reply.ok()) return reply.status();
  const auto& numbers = reply->elements();
  if (numbers.size() != 3) return to_status(*reply, "reading a lock");
  return LockState{.is_locked = numbers[0].integer() == 1,
                   .holds = numbers[1].integer(),
                   .lease_left_ms = numbers[2].integer()};
}

absl::StatusOr<bool> LockCore::force_release(const LockHold& hold) {
  const std::string_view mode = mode_of(hold.kind);
  const auto was_held =
      run_for_number({.name = hold.name, .kind = hold.kind}, force_release_script(hold.kind),
                     "releasing a lock by force", {&mode, 1});
  if (!was_held.ok()) return was_held.status();
  return *was_held == 1;
}

// ---- Scripts ----

absl::StatusOr<Reply> LockCore::run_for(const LockWish& wish, const Script& script,
                                        std::span<const std::string_view> arguments) {
  if (is_closed()) return closed();
  const std::vector<std::string> keys = keys_of(wish.kind, wish.name);
  return client_->run(form_of(script), views_of(keys), arguments);
}

absl::StatusOr<std::int64_t> LockCore::run_for_number(const LockWish& wish, const Script& script,
                                                      std::string_view action,
                                                      std::span<const std::string_view> arguments) {
  ASSIGN_OR_RETURN(const auto reply, run_for(wish, script, arguments));
  if (!reply.is_integer()) return to_status(reply, action);
  return reply.integer();
}

absl::StatusOr<std::int64_t> LockCore::run_for_number(const LockWish& wish, const Script& script,
                                                      std::string_view action,
                                                      std::int64_t argument) {
  const DecimalText text(argument);
  const std::string_view view = text.view();
  return run_for_number(wish, script, action, {&view, 1});
}

// ---- Latches and semaphores ----

void LockCore::give_back(const LockWish& wish) {
  if (is_closed()) return;
  const std::vector<std::string> keys = keys_of(wish.kind, wish.name);
  std::vector<std::string_view> permits;
  for (const std::string& permit : wish.permits) permits.insert(permits.end(), 2, permit);
  client_->submit(make_script_request("EVAL", form_of(release_permits_script()).text(),
                                      views_of(keys), permits),
                  [](const Reply&) {});
}

absl::StatusOr<std::int64_t> LockCore::count(const std::string& name) {
  if (is_closed()) return closed();
  return read_count((*client_)("GET", name));
}

}  // namespace rushgate
