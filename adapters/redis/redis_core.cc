#include "adapters/redis/redis_core.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>

#include "adapters/redis/redis_session.h"
#include "adapters/redis/text.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thread_name.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kClosedText = "the backend is closed";

}  // namespace

Lease::Lease(std::shared_ptr<RedisCore> core, std::shared_ptr<RedisLine> its_line)
    : line(std::move(its_line)), core_(std::move(core)) {}

Lease::~Lease() {
  if (core_ != nullptr) core_->give_back(line);
}

// ---- Opening and closing ------------------------------------------------------------------------

RedisCore::RedisCore(RedisOptions options)
    : options_(std::move(options)), shortest_timeout_ms_(options_.command_timeout_ms) {}

RedisCore::~RedisCore() = default;

absl::Status RedisCore::make_tls() {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  boost::system::error_code error;
  const auto check = [&](std::string_view option, const std::string& file) {
    if (!error) return absl::OkStatus();
    return absl::InvalidArgumentError(concat(option, " ", file, ": ", error.message()));
  };
  context->set_verify_mode(asio::ssl::verify_peer);
  if (options_.tls_ca.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(options_.tls_ca, error);
  }
  absl::Status status = check("tls_ca", options_.tls_ca);
  if (status.ok() && !options_.tls_certificate.empty()) {
    context->use_certificate_chain_file(options_.tls_certificate, error);
    status = check("tls_certificate", options_.tls_certificate);
  }
  if (status.ok() && !options_.tls_key.empty()) {
    context->use_private_key_file(options_.tls_key, asio::ssl::context::pem, error);
    status = check("tls_key", options_.tls_key);
  }
  tls_ = std::move(context);
  return status;
}

absl::Status RedisCore::start() {
  if (options_.tls) {
    RETURN_IF_ERROR(make_tls());
  }
  if (has_sentinels()) {
    finder_.emplace(io_, options_, tls(), [this](const RedisAddress& master) { follow(master); });
  }
  shared_ = std::make_shared<RedisLine>(*this, RedisLine::Use::kShared);
  lines_.push_back(shared_);
  if (options_.confirm_replicas > 0) {
    confirming_ = std::make_shared<RedisLine>(*this, RedisLine::Use::kConfirming);
    lines_.push_back(confirming_);
  }
  callbacks_.start();
  io_thread_ = std::thread([this] {
    name_this_thread("rg-redis");
    io_.run();
  });
  std::promise<absl::Status> outcome;
  asio::post(
      io_, [&] { shared_->start([&](const absl::Status& status) { outcome.set_value(status); }); });
  return outcome.get_future().get();
}

void RedisCore::close() {
  {
    const std::lock_guard lock(pool_mutex_);
    if (is_closed_.exchange(true) || !io_thread_.joinable()) return;
  }
  std::promise<void> closed;
  std::vector<std::shared_ptr<RedisLine>> closed_lines;
  asio::post(io_, [&] {
    tick_timer_.cancel();
    pause_timer_.cancel();
    if (finder_) finder_->close();
    std::deque<Waiter> waiters;
    TimerQueue pauses;  // destroys their data without the lock
    {
      const std::lock_guard lock(pool_mutex_);
      closed_lines = lines_;
      closed_lines.insert(closed_lines.end(), retired_.begin(), retired_.end());
      std::swap(waiters, waiters_);
      std::swap(pauses, pauses_);
    }
    for (const auto& line : closed_lines) line->close(std::string(kClosedText));
    for (Waiter& waiter : waiters) fail(*waiter.submission, error_code::kClosed, kClosedText);
    closed.set_value();
  });
  closed.get_future().get();
  work_.reset();
  io_.stop();
  io_thread_.join();
  for (const auto& line : closed_lines) line->join_check();  // unlocked: it may use a client
  callbacks_.stop();
}

// ---- Servers ------------------------------------------------------------------------------------

void RedisCore::find_server(MasterFinder::Found found) {
  if (!finder_) return found(RedisAddress{options_.host, options_.port});
  ++counts.lookups;
  finder_->find(std::move(found));
}

void RedisCore::doubt_server() {
  if (finder_) finder_->doubt();
}

/// Ends the connections to other servers.
void RedisCore::follow(const RedisAddress& master) {
  if (master_.port != 0 && master != master_) ++counts.master_changes;
  master_ = master;
  std::vector<std::shared_ptr<RedisLine>> lines;
  {
    const std::lock_guard lock(pool_mutex_);
    lines = lines_;
  }
  for (const auto& line : lines) line->follow(master);
}

// ---- Submissions --------------------------------------------------------------------------------

std::optional<Reply> RedisCore::admit(const Submission& submission, bool fail_when_full) {
  // A callback must not wait for later completions: it delays them.
  const bool is_callback = callbacks_.is_current();
  const auto take_space = [&] {
    const std::size_t bytes_before =
        queued_bytes_.fetch_add(submission.bytes) + (is_callback ? 0 : completion_bytes_.load());
    const std::size_t before = queued_.fetch_add(1) + (is_callback ? 0 : completions_.load());
    const bool has_bytes =
        bytes_before == 0 || bytes_before + submission.bytes <= options_.queue_bytes_max;
    if (before < options_.queue_capacity && has_bytes) return true;
    queued_.fetch_sub(1);
    queued_bytes_.fetch_sub(submission.bytes);
    return false;
  };
  counts.requests.fetch_add(submission.requests.size(), std::memory_order_relaxed);
  if (take_space()) return std::nullopt;
  if (fail_when_full) {
    wake_waiting();  // the attempt may have taken a connection that others wait for
    ++counts.overloads;
    return Reply::error(concat(error_code::kOverloaded, " the queue is full"));
  }
  std::unique_lock lock(space_mutex_);
  ++waiting_for_room_;
  bool is_late = false;
  while (!take_space() && !is_late) {
    if (submission.deadline_ms == 0) {
      space_made_.wait(lock);
    } else {
      const std::int64_t left_ms = submission.deadline_ms - now_ms();
      is_late = left_ms <= 0;
      if (!is_late) space_made_.wait_for(lock, std::chrono::milliseconds(left_ms));
    }
  }
  --waiting_for_room_;
  if (!is_late) return std::nullopt;
  ++counts.expired;
  return Reply::error(concat(error_code::kTimedOut, " ", kNotBegunInTime));
}

void RedisCore::release_space(const Submission& submission) {
  queued_.fetch_sub(1);
  queued_bytes_.fetch_sub(submission.bytes);
  wake_waiting();
}

void RedisCore::note_waiting_completion(std::size_t bytes) {
  completions_.fetch_add(1);
  completion_bytes_.fetch_add(bytes);
}

void RedisCore::note_running_completion(std::size_t bytes) {
  completions_.fetch_sub(1);
  completion_bytes_.fetch_sub(bytes);
  wake_waiting();
}

void RedisCore::wake_waiting() {
  if (waiting_for_room_.load() == 0) return;
  const std::lock_guard lock(space_mutex_);
  space_made_.notify_all();
}

void RedisCore::finish(Submission& submission) {
  submission.note_replies();
  if (const std::shared_ptr<RedisSession> session = std::move(submission.session)) {
    release_space(submission);
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
  asio::post(io_, [this] {
    constexpr std::int64_t kLongestMs = 250;
    const std::int64_t every_ms = std::clamp<std::int64_t>(shortest_timeout_ms_ / 4, 1, kLongestMs);
    tick_timer_.expires_after(std::chrono::milliseconds(every_ms));
    tick_timer_.async_wait([this](boost::system::error_code error) {
      if (!error) tick();
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
  {
    const std::lock_guard lock(pool_mutex_);
    if (is_closed_) return;
    pauses_.add(now_ms() + pause_ms, std::move(then));
  }
  asio::post(io_, [this] { run_due_pauses(); });
}

void RedisCore::run_due_pauses() {
  std::optional<std::int64_t> next_ms;
  while (true) {
    std::optional<Scheduler::Callback> due;
    {
      const std::lock_guard lock(pool_mutex_);
      due = pauses_.take_due(now_ms());
      next_ms = pauses_.next_due_ms();
    }
    if (!due) break;
    (*due)();
  }
  if (!next_ms) return;
  pause_timer_.expires_after(std::chrono::milliseconds(*next_ms - now_ms()));
  pause_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) run_due_pauses();
  });
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
    ++counts.expired;
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
  asio::post(io_, [line, reason] { line->close(reason); });
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

// ---- Checks and counters ------------------------------------------------------------------------

void RedisCore::add_check(std::weak_ptr<const ConnectionCheck> check) {
  const std::lock_guard lock(pool_mutex_);
  std::erase_if(checks_, [](const auto& known) { return known.expired(); });
  checks_.push_back(std::move(check));
}

std::vector<std::shared_ptr<const ConnectionCheck>> RedisCore::checks() {
  std::vector<std::shared_ptr<const ConnectionCheck>> checks;
  const std::lock_guard lock(pool_mutex_);
  for (const auto& kept : checks_) {
    if (auto check = kept.lock()) checks.push_back(std::move(check));
  }
  return checks;
}

RedisCounters RedisCore::counters() const {
  return {.connects = counts.connects,
          .reconnects = counts.reconnects,
          .connect_failures = counts.connect_failures,
          .losses = counts.losses,
          .requests = counts.requests,
          .writes = counts.writes,
          .timeouts = counts.timeouts,
          .expired = counts.expired,
          .overloads = counts.overloads,
          .breaker_openings = counts.breaker_openings,
          .breaker_refusals = counts.breaker_refusals,
          .resubscriptions = counts.resubscriptions,
          .lookups = counts.lookups,
          .master_changes = counts.master_changes};
}

}  // namespace rushgate
