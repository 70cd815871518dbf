#include "adapters/redis/redis_session.h"

#include <algorithm>
#include <cstddef>

#include "adapters/redis/internal_submission.h"
#include "adapters/redis/text.h"
#include "engine/core/client/command_traits.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

/// Returns true if one of `requests` subscribes inside MULTI. The server then sends more replies to
/// EXEC than it announces. Otherwise updates `in_transaction`.
bool subscribes_in_transaction(std::span<const Request> requests, bool& in_transaction) {
  bool is_inside = in_transaction;
  for (const Request& request : requests) {
    const ConnectionUse use = command_traits(request).connection;
    if (use == ConnectionUse::kSubscribes && is_inside) return true;
    if (use == ConnectionUse::kBeginsTransaction) is_inside = true;
    const bool ends =
        use == ConnectionUse::kEndsTransaction || equals_ignore_case(request[0], "RESET");
    if (ends) is_inside = false;
  }
  in_transaction = is_inside;
  return false;
}

}  // namespace

// ---- The order of submissions -------------------------------------------------------------------

RedisSession::RedisSession(std::shared_ptr<RedisCore> core, ClientOptions options)
    : core_(std::move(core)), options_(std::move(options)) {
  if (options_.queue_timeout_ms != 0) core_->note_timeout(options_.queue_timeout_ms);
}

std::optional<Reply> RedisSession::submit(Submission& submission) {
  if (!submission.is_part) {
    if (options_.queue_timeout_ms != 0) {
      submission.deadline_ms = core_->now_ms() + options_.queue_timeout_ms;
    }
    if (auto error = core_->runtime().admit(submission, options_.fail_when_full)) return error;
  }
  submission.session = shared_from_this();
  Refused refused;
  if (submission.route == Route::kShared) {
    if ((state_.fetch_add(1) & kGated) == 0) {
      submission.is_counted = true;
      if (auto reason = core_->shared_for(options_).submit(submission)) {
        core_->fail(submission, error_code::kClosed, *reason);
      }
      return std::nullopt;
    }
    state_.fetch_sub(1);
  }
  {
    const std::lock_guard lock(mutex_);
    held_.push_back(submission);
    dispatch(refused);
    if (options_.queue_timeout_ms != 0 && !held_.empty() && !std::exchange(is_watched_, true)) {
      core_->watch(weak_from_this());
    }
  }
  fail_all(refused);
  return std::nullopt;
}

absl::StatusOr<std::vector<std::vector<Request>>> RedisSession::replica_waits(
    const ReplicaWait& wait, std::optional<std::string_view> /*key*/) {
  return std::vector<std::vector<Request>>{wait.requests()};
}

bool RedisSession::expire(std::int64_t now_ms) {
  Refused refused;
  bool holds_any = false;
  {
    const std::lock_guard lock(mutex_);
    SubmissionList expired = held_.take_expired(now_ms);
    for (Submission* each = expired.front(); each != nullptr; each = each->next) {
      ++core_->runtime().counts.expired;
      each->fail_rest(error_code::kTimedOut, kNotBegunInTime);
      refused.emplace_back(each, "");
    }
    dispatch(refused);
    holds_any = !held_.empty();
    is_watched_ = holds_any;
  }
  fail_all(refused);
  return holds_any;
}

/// Sends the submissions that are held back, in order, as far as they may begin. Requires mutex_.
void RedisSession::dispatch(Refused& refused) {
  state_.fetch_or(kGated);
  while (!held_.empty() && fence_ == nullptr) {
    Submission& next = *held_.front();
    if (own_ == nullptr && next.route != Route::kShared) {
      // The earlier ones must have run: ended() dispatches again.
      if (state_.load() != kGated) return;
      if (next.route == Route::kOwn && !is_closed_ && !acquire_own(next)) return;
    }
    held_.pop_front();
    if (own_ != nullptr) {
      send_own(next, refused);
    } else if (next.route == Route::kShared) {
      send_shared(next, refused);
    } else if (next.route == Route::kLeased) {
      send_leased(next, refused);
    } else {
      refused.emplace_back(&next, "the client is closed");
    }
  }
  if (held_.empty() && fence_ == nullptr && own_ == nullptr) state_.fetch_and(~kGated);
}

void RedisSession::send_shared(Submission& submission, Refused& refused) {
  state_.fetch_add(1);
  submission.is_counted = true;
  if (auto reason = core_->shared_for(options_).submit(submission)) {
    refused.emplace_back(&submission, *reason);
  }
}

void RedisSession::send_own(Submission& submission, Refused& refused) {
  if (subscribes_in_transaction(submission.requests, in_transaction_)) {
    submission.fail_rest("ERR", "a subscription inside MULTI is not supported by this client");
    refused.emplace_back(&submission, "");
    return;
  }
  const bool is_subscription = std::all_of(
      submission.requests.begin(), submission.requests.end(), [](const Request& request) {
        return command_traits(request).connection == ConnectionUse::kSubscribes;
      });
  if (submission.route == Route::kOwn && !is_subscription) own_->keep_state();
  if (submission.route == Route::kLeased) {  // it may block, and unblock() must find it
    submission.lease = std::make_shared<Lease>(nullptr, own_);
    leases_.push_back(submission.lease);
  }
  if (auto reason = own_->submit(submission)) refused.emplace_back(&submission, *reason);
}

/// Sets own_. Returns false if `submission`, the first of held_, now waits for a connection.
bool RedisSession::acquire_own(Submission& submission) {
  own_ = core_->acquire(
      submission, [self = shared_from_this(), &submission](std::shared_ptr<RedisLine> granted) {
        Refused late;
        {
          const std::lock_guard lock(self->mutex_);
          self->fence_ = nullptr;
          if (!self->is_closed_) {
            self->own_ = std::exchange(granted, nullptr);
            self->send_own(submission, late);
          } else {
            late.emplace_back(&submission, "the client is closed");
          }
          self->dispatch(late);
        }
        if (granted != nullptr) self->core_->retire(std::move(granted));
        self->fail_all(late);
      });
  if (own_ != nullptr) return true;
  held_.pop_front();
  fence_ = &submission;
  return false;
}

void RedisSession::send_leased(Submission& submission, Refused& refused) {
  if (submission.announce_begin()) fence_ = &submission;
  auto line = core_->acquire(
      submission, [self = shared_from_this(), &submission](std::shared_ptr<RedisLine> granted) {
        Refused late;
        {
          const std::lock_guard lock(self->mutex_);
          self->start_leased(submission, std::move(granted), late);
        }
        self->fail_all(late);
      });
  if (line != nullptr) start_leased(submission, std::move(line), refused);
}

void RedisSession::start_leased(Submission& submission, std::shared_ptr<RedisLine> line,
                                Refused& refused) {
  auto lease = std::make_shared<Lease>(core_, std::move(line));
  submission.lease = lease;
  leases_.push_back(lease);
  if (auto reason = lease->line->submit(submission)) {
    refused.emplace_back(&submission, *reason);
  } else if (is_closed_) {
    begin_unblocking(std::move(lease));
  }
}

void RedisSession::fail_all(const Refused& refused) {
  for (const auto& [submission, reason] : refused) {
    core_->fail(*submission, error_code::kClosed, reason);
  }
}

void RedisSession::begun(const Submission& submission) {
  Refused refused;
  {
    const std::lock_guard lock(mutex_);
    if (fence_ != &submission) return;
    fence_ = nullptr;
    dispatch(refused);
  }
  fail_all(refused);
}

void RedisSession::ended(Submission& submission) {
  const std::shared_ptr<Lease> lease = std::move(submission.lease);  // returned without a lock
  if (lease != nullptr) {
    lease->has_ended = true;
    const std::lock_guard lock(mutex_);
    std::erase(leases_, lease);
  }
  if (submission.route != Route::kShared) begun(submission);
  if (!submission.is_counted) return;
  if (state_.fetch_sub(1) != (kGated | 1)) return;
  Refused refused;
  {
    const std::lock_guard lock(mutex_);
    dispatch(refused);
  }
  fail_all(refused);
}

// ---- Ending blocking commands -------------------------------------------------------------------

void RedisSession::unblock() {
  std::vector<std::shared_ptr<Lease>> leases;
  {
    const std::lock_guard lock(mutex_);
    leases = leases_;
  }
  for (auto& lease : leases) begin_unblocking(std::move(lease));
}

void RedisSession::close() {
  std::vector<std::shared_ptr<Lease>> leases;
  std::shared_ptr<RedisLine> own;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    leases = leases_;
    own = own_;
  }
  for (auto& lease : leases) begin_unblocking(std::move(lease));
  if (own != nullptr) core_->retire(std::move(own));
}

void RedisSession::begin_unblocking(std::shared_ptr<Lease> lease) {
  constexpr std::int64_t kPauseMs = 1;
  if (!lease->is_being_unblocked.exchange(true)) send_unblock(std::move(lease), kPauseMs);
}

/// Repeats until the submission has finished: it may not have reached the server yet. Keeps the
/// lease until the reply, so that the connection cannot block for another client.
void RedisSession::send_unblock(std::shared_ptr<Lease> lease, std::int64_t pause_ms) {
  if (lease->has_ended) return;
  const std::int64_t id = lease->line->connection_id();
  if (id == 0) return retry_unblock(std::move(lease), pause_ms);
  std::vector<Request> requests;
  requests.push_back(Request::of("CLIENT", "UNBLOCK", id));
  auto unblocking = std::make_unique<InternalSubmission>(
      std::move(requests),
      [self = shared_from_this(), lease, pause_ms](std::span<const Reply> replies) {
        if (replies.front() != Reply::integer(1)) self->retry_unblock(lease, pause_ms);
      });
  if (core_->shared().submit(*unblocking)) return retry_unblock(std::move(lease), pause_ms);
  static_cast<void>(unblocking.release());  // deletes itself
}

void RedisSession::retry_unblock(std::shared_ptr<Lease> lease, std::int64_t pause_ms) {
  constexpr std::int64_t kPauseMaxMs = 64;
  const std::int64_t next_pause_ms = std::min(2 * pause_ms, kPauseMaxMs);
  core_->after(pause_ms, [self = shared_from_this(), lease = std::move(lease), next_pause_ms] {
    self->send_unblock(lease, next_pause_ms);
  });
}

}  // namespace rushgate
