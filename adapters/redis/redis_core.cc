#include "adapters/redis/redis_core.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>

#include "adapters/redis/redis_session.h"
#include "adapters/redis/text.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

namespace asio = boost::asio;

}  // namespace

Lease::Lease(std::shared_ptr<RedisCore> core, std::shared_ptr<RedisLine> its_line)
    : line(std::move(its_line)), core_(std::move(core)) {}

Lease::~Lease() {
  if (core_ != nullptr) core_->give_back(line);
}

// ---- Opening and closing ------------------------------------------------------------------------

RedisCore::RedisCore(RedisOptions options, std::shared_ptr<RedisRuntime> runtime)
    : options_(std::move(options)),
      runtime_(std::move(runtime)),
      shortest_timeout_ms_(options_.command_timeout_ms),
      pauses_(std::make_shared<Pauses>(runtime_->clock(), runtime_->io())) {}

RedisCore::~RedisCore() = default;

void RedisCore::start(absl::AnyInvocable<void(absl::Status)> outcome) {
  if (has_sentinels()) {
    finder_.emplace(io(), options_, tls(), [this](const RedisAddress& master) { follow(master); });
  }
  shared_ = std::make_shared<RedisLine>(*this, RedisLine::Use::kShared);
  lines_.push_back(shared_);
  if (options_.confirm_replicas > 0) {
    confirming_ = std::make_shared<RedisLine>(*this, RedisLine::Use::kConfirming);
    lines_.push_back(confirming_);
  }
  asio::post(io(), [self = shared_from_this(), outcome = std::move(outcome)]() mutable {
    self->shared_->start(std::move(outcome));
  });
}

void RedisCore::close(std::string_view reason) {
  std::deque<Waiter> waiters;
  std::vector<std::shared_ptr<RedisLine>> lines;
  {
    const std::lock_guard lock(pool_mutex_);
    if (is_closed_.exchange(true)) return;
    lines = lines_;
    lines.insert(lines.end(), retired_.begin(), retired_.end());
    std::swap(waiters, waiters_);
    closed_lines_ = lines;
  }
  tick_timer_.cancel();
  static_cast<void>(pauses_->close());
  if (finder_) finder_->close();
  for (const auto& line : lines) line->close(std::string(reason));
  for (Waiter& waiter : waiters) fail(*waiter.submission, error_code::kClosed, reason);
}

void RedisCore::join_checks() {
  for (const auto& line : closed_lines_) line->join_check();
}

bool RedisCore::has_ended() const {
  return std::ranges::all_of(closed_lines_, [](const auto& line) { return line->has_ended(); });
}

// ---- Servers ------------------------------------------------------------------------------------

void RedisCore::find_server(MasterFinder::Found found) {
  if (!finder_) return found(RedisAddress{options_.host, options_.port});
  ++runtime_->counts.lookups;
  finder_->find(std::move(found));
}

void RedisCore::doubt_server() {
  if (finder_) finder_->doubt();
  note_trouble();
}

void RedisCore::note_trouble() {
  if (on_trouble_) on_trouble_();
}

/// Ends the connections to other servers.
void RedisCore::follow(const RedisAddress& master) {
  if (master_.port != 0 && master != master_) ++runtime_->counts.master_changes;
  master_ = master;
  std::vector<std::shared_ptr<RedisLine>> lines;
  {
    const std::lock_guard lock(pool_mutex_);
    lines = lines_;
  }
  for (const auto& line : lines) line->follow(master);
}

// ---- Submissions --------------------------------------------------------------------------------

void RedisCore::finish(Submission& submission) {
  submission.note_replies();
  if (const std::shared_ptr<RedisSession> session = std::move(submission.session)) {
    if (!submission.is_part) runtime_->release(submission);
    session->ended(submission);
  }
  submission.finish();
}

void RedisCore::fail(Submission& submission, std::string_view code, std::string_view reason) {
  submission.fail_rest(code, reason);
  finish(submission);
}

// ---- Time ---------------------------------------------------------------------------------------

void RedisCore::arm_tick() {
  if (tick_is_armed_.exchange(true)) return;
  asio::post(io(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    constexpr std::int64_t kLongestMs = 250;
    const std::int64_t every_ms =
        std::clamp<std::int64_t>(self->shortest_timeout_ms_ / 4, 1, kLongestMs);
    self->tick_timer_.expires_after(std::chrono::milliseconds(every_ms));
    self->tick_timer_.async_wait([weak](boost::system::error_code error) {
      const auto ticking = weak.lock();
      if (!error && ticking != nullptr) ticking->tick();
    });
  });
}

void RedisCore::note_timeout(std::int64_t timeout_ms) {
  std::int64_t shortest = shortest_timeout_ms_.load();
  while (timeout_ms < shortest &&
         !shortest_timeout_ms_.compare_exchange_weak(shortest, timeout_ms)) {
  }
}

void RedisCore::tick() {
  tick_is_armed_ = false;
  const std::int64_t now = now_ms();
  std::vector<std::shared_ptr<RedisLine>> lines;
  {
    const std::lock_guard lock(pool_mutex_);
    lines = lines_;
  }
  bool is_busy = expire_held(now);
  is_busy = expire_waiters(now) || is_busy;
  for (const auto& line : lines) is_busy = line->tick(now) || is_busy;
  if (is_busy) arm_tick();
}

void RedisCore::after(std::int64_t pause_ms, absl::AnyInvocable<void()> then) {
  static_cast<void>(pauses_->after(pause_ms, std::move(then)));
}

void RedisCore::watch(std::weak_ptr<RedisSession> session) {
  {
    const std::lock_guard lock(pool_mutex_);
    watched_.push_back(std::move(session));
  }
  arm_tick();
}

/// Returns true if a session still holds back submissions.
bool RedisCore::expire_held(std::int64_t now) {
  std::vector<std::weak_ptr<RedisSession>> watched;
  {
    const std::lock_guard lock(pool_mutex_);
    std::swap(watched, watched_);
  }
  std::erase_if(watched, [&](const std::weak_ptr<RedisSession>& kept) {
    const auto session = kept.lock();
    return session == nullptr || !session->expire(now);
  });
  const std::lock_guard lock(pool_mutex_);
  watched_.insert(watched_.end(), watched.begin(), watched.end());
  return !watched_.empty();
}

/// Returns true if any submission still waits.
bool RedisCore::expire_waiters(std::int64_t now) {
  std::vector<Submission*> expired;
  bool any_left = false;
  {
    const std::lock_guard lock(pool_mutex_);
    std::erase_if(waiters_, [&](const Waiter& waiter) {
      if (waiter.deadline_ms > now) return false;
      expired.push_back(waiter.submission);
      return true;
    });
    any_left = !waiters_.empty();
  }
  const std::string connections =
      concat("all ", std::to_string(options_.connections_max), " connections were in use");
  for (Submission* const each : expired) {
    ++runtime_->counts.expired;
    const std::string reason =
        each->has_expired(now)
            ? concat(kNotBegunInTime, ": ", connections)
            : concat(connections, " for ", std::to_string(options_.command_timeout_ms), " ms");
    fail(*each, error_code::kTimedOut, reason);
  }
  return any_left;
}

// ---- Other connections ------------------------------------------------------------------------

std::shared_ptr<RedisLine> RedisCore::acquire(Submission& submission, Granted granted) {
  const std::lock_guard lock(pool_mutex_);
  if (in_use_ >= options_.connections_max && !is_closed_) {
    std::int64_t deadline_ms = now_ms() + options_.command_timeout_ms;
    if (submission.deadline_ms != 0) deadline_ms = std::min(deadline_ms, submission.deadline_ms);
    waiters_.push_back({&submission, deadline_ms, std::move(granted)});
    arm_tick();
    return nullptr;
  }
  ++in_use_;
  return take_line(submission);
}

std::shared_ptr<RedisLine> RedisCore::take_line(const Submission& submission) {
  if (submission.route == Route::kLeased) return take_idle_line();
  return open_own_line(submission.session->options().on_message);
}

/// Returns the most recently used idle connection, or a new one.
std::shared_ptr<RedisLine> RedisCore::take_idle_line() {
  if (idle_.empty()) {
    return lines_.emplace_back(std::make_shared<RedisLine>(*this, RedisLine::Use::kLeased));
  }
  std::shared_ptr<RedisLine> line = std::move(idle_.back());
  idle_.pop_back();
  return line;
}

/// Ends the use of a connection. `line` is null if it cannot be leased again.
void RedisCore::give_back(std::shared_ptr<RedisLine> line) {
  std::optional<Waiter> next;
  {
    const std::lock_guard lock(pool_mutex_);
    if (line != nullptr) idle_.push_back(std::move(line));
    if (waiters_.empty()) {
      --in_use_;
      return;
    }
    next = std::move(waiters_.front());
    waiters_.pop_front();
    line = take_line(*next->submission);
  }
  next->granted(std::move(line));
}

std::shared_ptr<RedisLine> RedisCore::open_own_line(std::function<void(Reply)> on_message) {
  reap_retired();
  const bool are_all_open = lines_.size() > static_cast<std::size_t>(options_.connections_max);
  if (are_all_open && !idle_.empty()) {
    close_line(std::move(idle_.front()), "it was not used");
    idle_.erase(idle_.begin());
  }
  return lines_.emplace_back(
      std::make_shared<RedisLine>(*this, RedisLine::Use::kOwn, std::move(on_message)));
}

void RedisCore::retire(std::shared_ptr<RedisLine> line) {
  {
    const std::lock_guard lock(pool_mutex_);
    close_line(std::move(line), "the client is closed");
  }
  give_back(nullptr);
}

/// Requires pool_mutex_.
void RedisCore::close_line(std::shared_ptr<RedisLine> line, const std::string& reason) {
  std::erase(lines_, line);
  asio::post(io(), [line, reason] { line->close(reason); });
  retired_.push_back(std::move(line));
}

/// Releases closed lines whose checks have ended.
void RedisCore::reap_retired() {
  std::erase_if(retired_, [](const std::shared_ptr<RedisLine>& line) {
    if (!line->has_ended()) return false;
    line->join_check();
    return true;
  });
}

}  // namespace rushgate
