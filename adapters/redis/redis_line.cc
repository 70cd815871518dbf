#include "adapters/redis/redis_line.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

#include <boost/asio/post.hpp>

#include "adapters/redis/internal_submission.h"
#include "adapters/redis/peers.h"
#include "adapters/redis/redis_core.h"
#include "adapters/redis/replica_wait.h"
#include "adapters/redis/request_timeout.h"
#include "adapters/redis/server_version.h"
#include "adapters/redis/text.h"
#include "adapters/redis/waiting_submission.h"
#include "adapters/resp/resp_encoder.h"
#include "engine/core/base/thread_name.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/thread_wait.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kChunkBytes = 64 * 1024;      // encoded at once; a larger request goes alone
constexpr std::size_t kKeptBytesMax = 1024 * 1024;  // a larger buffer is freed

// Added to a blocking command's own timeout: an idle Redis checks these ten times a second.
constexpr std::int64_t kBlockSlackMs = 1'000;
constexpr std::int64_t kLongestBlockMs = std::numeric_limits<std::int64_t>::max() / 2;

// While the server counts as dead: the longest wait of a request for an attempt, and the shortest
// time between two attempts.
constexpr std::int64_t kPatienceMs = 50;
constexpr std::int64_t kRetryMinMs = 5;

constexpr std::int64_t kFirstPauseMs = 10;  // before the first automatic attempt

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

/// Returns true for errors of a server that cannot serve any request of this kind. The results of a
/// script or transaction may contain them.
bool ends_connection(const Reply& reply) {
  if (reply.is_aggregate()) {
    return std::any_of(reply.elements().begin(), reply.elements().end(), [](const Reply& element) {
      return element.is_error() && ends_connection(element);
    });
  }
  const std::string_view code = reply.error_code();
  return code == redis_error_code::kReadOnly || code == redis_error_code::kLoading ||
         code == redis_error_code::kMasterDown;
}

/// Returns the error in the format of Redis 7.0. Older servers put the code of a script's error
/// after its place: "ERR Error running script (call to f_…): @user_script:1: @user_script: 1: -OOM
/// …".
Reply with_code_first(Reply error) {
  constexpr std::string_view kOfScript = "ERR Error running script (call to ";
  constexpr std::string_view kBeforeCode = ": -";
  if (!error.text().starts_with(kOfScript)) return error;
  const std::size_t at = error.text().find(kBeforeCode);
  if (at == std::string::npos) return error;
  return Reply::error(error.text().substr(at + kBeforeCode.size()));
}

/// Returns true if a reply to ROLE is of a master.
bool is_role_of_master(const Reply& role) {
  return !role.elements().empty() && role.elements().front().text() == "master";
}

bool is_of_transport(const Reply& reply) {
  const std::string_view code = reply.error_code();
  return code == error_code::kOutcomeUnknown || code == error_code::kClosed;
}

/// Replaces the results by errors.
void make_unknown(const SubmissionList& submissions, std::string_view reason) {
  for (Submission* each = submissions.front(); each != nullptr; each = each->next) {
    for (Reply& reply : each->replies) {
      if (reply.is_error()) continue;
      reply = Reply::error(concat(error_code::kOutcomeUnknown, " ", reason));
    }
  }
}

/// Returns a random time between `ms` / 2 and `ms`.
std::int64_t with_jitter(std::int64_t ms) {
  thread_local std::minstd_rand random(std::random_device{}());
  return std::uniform_int_distribution<std::int64_t>(ms / 2, ms)(random);
}

}  // namespace

// ---- The client of a ConnectionCheck ------------------------------------------------------------

/// Uses one connection before it is up.
class RedisLine::CheckedConnection final : public Client {
 public:
  CheckedConnection(RedisLine& line, const RedisWire* wire) : line_(line), wire_(wire) {}

  void submit(Request request, Completion completion) override {
    completion(call(std::move(request)));
  }
  Reply call(Request request) override { return std::move(pipeline({&request, 1}).front()); }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    if (requests.empty()) return {};
    std::optional<WaitingSubmission> submission;
    thread_wait().wait([&](WaitMethod::Event& finished) {
      submission.emplace(requests, finished);
      if (const auto refusal = line_.submit_to_check(wire_, *submission)) {
        submission->fail_rest(error_code::kClosed, *refusal);
        finished.happen();
      }
    });
    std::vector<Reply> replies = submission->take_replies();
    is_elsewhere_ = is_elsewhere_ || std::ranges::any_of(replies, [](const Reply& reply) {
                      return has_code(reply, redis_error_code::kMoved);
                    });
    return replies;
  }
  void unblock() override {}
  Reply sync() override { return call(Request::of("PING")); }

  /// Returns true if another node of a cluster has the keys that the check asked for.
  [[nodiscard]] bool is_elsewhere() const { return is_elsewhere_; }

 private:
  RedisLine& line_;
  const RedisWire* const wire_;
  bool is_elsewhere_ = false;
};

// ---- From any thread ----------------------------------------------------------------------------

RedisLine::RedisLine(RedisCore& core, Use use, std::function<void(Reply)> on_message)
    : core_(core),
      use_(use),
      on_message_(std::move(on_message)),
      attempt_timer_(core.io()),
      patience_timer_(core.io()),
      retry_timer_(core.io()) {}

RedisLine::~RedisLine() = default;

std::optional<std::string> RedisLine::submit(Submission& submission) {
  std::optional<std::string> dead;
  if (use_ != Use::kShared) dead = core_.shared().dead_reason();
  const Lock lock(mutex_);
  if (dead_) dead = dead_;
  if (phase_ == Phase::kClosed || has_lost_state_) return closed_reason_;
  if (setup_failure_ && phase_ == Phase::kDown && core_.now_ms() < next_attempt_ms_) {
    ++core_.runtime().counts.breaker_refusals;
    return setup_failure_;
  }
  const bool must_connect = phase_ == Phase::kDown && !attempt_is_posted_;
  if (must_connect && core_.is_closed()) return "the backend is closed";
  const bool is_connecting = phase_ == Phase::kConnecting || phase_ == Phase::kSettingUp;
  if (dead && is_connecting && core_.now_ms() - attempt_began_ms_ >= kPatienceMs) {
    ++core_.runtime().counts.breaker_refusals;
    return dead;
  }
  const bool is_idle = unfinished_++ == 0;
  if (is_idle) core_.arm_tick();
  const bool can_send = phase_ == Phase::kUp && is_idle && !is_writing_ && !is_doomed_;
  if (can_send && send_at_once(submission)) return std::nullopt;
  waiting_.push_back(submission);
  if (phase_ == Phase::kUp) post_flush();
  if (must_connect) post_attempt();
  return std::nullopt;
}

std::optional<std::string> RedisLine::submit_to_check(const RedisWire* wire,
                                                      Submission& submission) {
  const Lock lock(mutex_);
  if (phase_ != Phase::kSettingUp || !is_current(wire)) {
    return concat(server_name(), ": the connection was lost");
  }
  ++unfinished_;
  core_.arm_tick();
  setup_.push_back(submission);
  post_flush();
  return std::nullopt;
}

void RedisLine::keep_state() {
  const Lock lock(mutex_);
  keeps_state_ = true;
}

std::optional<std::string> RedisLine::dead_reason() {
  const Lock lock(mutex_);
  if (phase_ == Phase::kClosed) return closed_reason_;
  return dead_;
}

std::optional<std::string> RedisLine::unusable_reason() {
  auto reason = dead_reason();
  const Lock lock(mutex_);
  return reason ? reason : setup_failure_;
}

void RedisLine::post_flush() {
  if (flush_is_posted_) return;
  flush_is_posted_ = true;
  asio::post(core_.io(), [self = shared_from_this()] { self->flush(); });
}

void RedisLine::post_attempt() {
  attempt_is_posted_ = true;
  asio::post(core_.io(), [self = shared_from_this()] {
    self->retry_after(self->dead_ ? self->attempt_ended_ms_ + kRetryMinMs - self->core_.now_ms()
                                  : 0);
  });
}

/// Sends on an idle connection, without a detour through the I/O thread.
bool RedisLine::send_at_once(Submission& submission) {
  if (!wire_->is_plain() || submission.bytes > kChunkBytes) return false;
  // The server has closed the connection. The I/O thread is about to notice.
  if (is_stale(*wire_)) return false;
  out_.clear();
  out_sent_ = 0;
  chunk_ends_.clear();
  handed_.push_back(submission);
  last_activity_ms_ = core_.now_ms();
  while (submission.encoded < submission.requests.size()) encode(submission);
  if (use_ == Use::kConfirming) {
    Submission& confirmation = make_confirmation();
    handed_.push_back(confirmation);
    while (confirmation.encoded < confirmation.requests.size()) encode(confirmation);
  }
  ++core_.runtime().counts.writes;
  const ssize_t sent = wire_->send(out_);
  out_sent_ = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (out_sent_ < out_.size()) {
    is_writing_ = true;  // the I/O thread continues
    post_flush();
  }
  return true;
}

/// Checks the socket only if the I/O thread may be late: the check costs a system call.
bool RedisLine::is_stale(RedisWire& wire) const {
  constexpr std::int64_t kFreshMs = 2;
  if (core_.now_ms() - last_activity_ms_ < kFreshMs) return false;
  return wire.is_stale(/*may_speak=*/on_message_ != nullptr);
}

void RedisLine::encode(Submission& submission) {
  if (submission.encoded == 0) submission.prepare();
  append_request(submission.requests[submission.encoded++], out_);
  chunk_ends_.push_back(out_.size());
}

/// Returns a submission that ends a batch. It deletes itself.
Submission& RedisLine::make_confirmation() {
  auto confirmation = std::make_unique<InternalSubmission>(
      core_.confirmation().requests(), [](std::span<const Reply> /*replies*/) {});
  confirmation_ = confirmation.get();
  ++unfinished_;
  return *confirmation.release();
}

// ---- Connecting ---------------------------------------------------------------------------------

void RedisLine::start(absl::AnyInvocable<void(absl::Status)> outcome) {
  first_outcome_ = std::move(outcome);
  start_attempt();
}

void RedisLine::start_attempt() {
  // If the server is dead, other connections do not wait for the shared one to return.
  bool is_dead = use_ != Use::kShared && core_.shared().dead_reason().has_value();
  const bool must_wait = has_backlog();
  {
    const Lock lock(mutex_);
    attempt_is_posted_ = false;
    if (phase_ != Phase::kDown) return;
    if (!must_wait) {
      phase_ = Phase::kConnecting;
      attempt_began_ms_ = core_.now_ms();
    }
    is_dead = is_dead || dead_.has_value();
  }
  if (must_wait) {
    return fail_attempt(absl::UnavailableError("too many messages wait for on_message"),
                        Failure::kSubscription);
  }
  retry_timer_.stop();
  greeting_error_ = absl::OkStatus();
  if (is_dead) {
    patience_timer_.start(kPatienceMs, [self = shared_from_this()] {
      if (const auto reason = self->core_.shared().dead_reason()) self->fail_waiting(*reason);
    });
  }
  core_.find_server([self = shared_from_this()](const absl::StatusOr<RedisAddress>& server) {
    self->connect_to(server);
  });
}

void RedisLine::connect_to(const absl::StatusOr<RedisAddress>& server) {
  if (phase_ != Phase::kConnecting) return;  // closed meanwhile
  if (!server.ok()) return fail_attempt(server.status(), Failure::kServer);
  auto wire = std::make_shared<RedisWire>(core_.io(), core_.options(), *server, core_.tls(),
                                          shared_from_this());
  {
    const Lock lock(mutex_);
    wire_ = wire;
    server_ = *server;
  }
  end_attempt_after(core_.options().connect_timeout_ms, "Connection timed out");
  wire->connect();
}

void RedisLine::follow(const RedisAddress& master) {
  if (wire_ == nullptr || server_ == master) return;
  const std::string reason = concat("the master is now ", master.text());
  if (phase_ == Phase::kUp) return lose(reason, false);
  fail_attempt(absl::UnavailableError(cannot_connect(reason)), Failure::kServer);
}

void RedisLine::end_attempt_after(std::int64_t timeout_ms, const std::string& reason) {
  attempt_timer_.start(timeout_ms, [self = shared_from_this(), reason] {
    self->fail_attempt(absl::UnavailableError(self->cannot_connect(reason)), Failure::kServer);
  });
}

/// Returns the name of the server for messages.
std::string RedisLine::server_name() const {
  return core_.has_sentinels() ? server_.text() : core_.options().address();
}

std::string RedisLine::cannot_connect(std::string_view reason) const {
  return concat("cannot connect to ", server_name(), ": ", reason);
}

void RedisLine::connected(RedisWire& wire, const std::string& failure) {
  if (!failure.empty()) {
    return fail_attempt(absl::UnavailableError(cannot_connect(failure)), Failure::kServer);
  }
  reader_.emplace();
  {
    const Lock lock(mutex_);
    phase_ = Phase::kSettingUp;
  }
  const std::int64_t timeout_ms = core_.options().command_timeout_ms;
  end_attempt_after(timeout_ms, concat("no reply within ", std::to_string(timeout_ms), " ms"));
  wire.read();
  greet(wire);
}

void RedisLine::greet(RedisWire& wire) {
  const RedisOptions& options = core_.options();
  std::vector<Request> requests;
  add_auth(options.user, options.password, requests);
  if (options.db != 0) requests.push_back(Request::of("SELECT", options.db));
  if (!options.client_name.empty()) {
    requests.push_back(Request::of("CLIENT", "SETNAME", options.client_name));
  }
  // A server that is full or still loading reports it here, before any request.
  requests.push_back(Request::of("PING"));
  if (core_.has_sentinels()) requests.push_back(Request::of("ROLE"));
  if (!core_.node_id().empty()) requests.push_back(Request::of("CLUSTER", "MYID"));
  requests.push_back(Request::of("INFO", "server"));
  requests.push_back(Request::of("CLIENT", "ID"));
  auto greeting = std::make_unique<InternalSubmission>(
      std::move(requests), [self = shared_from_this(), at = &wire](std::span<const Reply> replies) {
        self->greeted(at, replies);
      });
  greeting_ = greeting.get();
  if (const auto refusal = submit_to_check(&wire, *greeting)) return;
  static_cast<void>(greeting.release());  // deletes itself
}

/// Returns an error without the password. A server without AUTH quotes its arguments.
std::string RedisLine::without_password(std::string_view text) const {
  const std::string& password = core_.options().password;
  constexpr std::string_view kInstead = "(the password)";
  std::string shown(text);
  if (password.empty()) return shown;
  for (std::size_t at = shown.find(password); at != std::string::npos;
       at = shown.find(password, at + kInstead.size())) {
    shown.replace(at, password.size(), kInstead);
  }
  return shown;
}

/// Records that the server refuses to serve.
void RedisLine::note_refusal(const Reply& reply) {
  const std::string_view code = reply.error_code();
  const bool about_password = code == "WRONGPASS" || code == "NOAUTH" ||
                              code == redis_error_code::kNoPermission ||
                              reply.text().starts_with("ERR AUTH");
  const bool may_pass = code == redis_error_code::kLoading || code == redis_error_code::kBusy ||
                        code == redis_error_code::kMasterDown ||
                        reply.text().starts_with("ERR max number of clients");
  const std::string text = cannot_connect(without_password(reply.text()));
  greeting_error_ = about_password ? absl::PermissionDeniedError(text)
                    : may_pass     ? absl::UnavailableError(text)
                                   : absl::FailedPreconditionError(text);
}

/// Records why the server is unusable, or starts the checks.
void RedisLine::greeted(const RedisWire* wire, std::span<const Reply> replies) {
  greeting_ = nullptr;
  const std::size_t identity = replies.size() - 2;  // INFO and CLIENT ID, not for all users
  for (const Reply& reply : replies.first(identity)) {
    if (reply.is_error() && !is_of_transport(reply)) note_refusal(reply);
    if (!greeting_error_.ok()) break;
  }
  if (greeting_error_.ok() && core_.has_sentinels() && !is_role_of_master(replies[identity - 1])) {
    greeting_error_ = absl::UnavailableError(cannot_connect("it is not a master"));
  }
  const std::string& id = core_.node_id();
  if (greeting_error_.ok() && !id.empty() && replies[identity - 1].text() != id) {
    greeting_error_ =
        absl::UnavailableError(cannot_connect("another node of a cluster has its address now"));
  }
  if (greeting_error_.ok()) {
    const std::string refusal = refused_version(replies[identity]);
    if (!refusal.empty()) {
      greeting_error_ = absl::FailedPreconditionError(cannot_connect(refusal));
    }
  }
  if (!is_current(wire) || phase_ != Phase::kSettingUp) return;  // lost meanwhile
  if (!greeting_error_.ok()) return fail_attempt(greeting_error_, Failure::kServer);
  attempt_timer_.stop();
  patience_timer_.stop();
  connection_id_ = replies.back().integer();
  {
    const Lock lock(mutex_);
    dead_.reset();
  }
  run_checks();
}

void RedisLine::run_checks() {
  // The check of a lost connection may still be running. checked() continues here.
  checks_are_due_ = !check_has_reported_;
  if (checks_are_due_) return;
  auto checks = core_.runtime().checks();
  if (checks.empty()) return subscribe_again();
  join_check();
  check_has_reported_ = false;
  is_checking_ = true;
  check_ = std::thread([this, wire = wire_, checks = std::move(checks)]() mutable {
    name_this_thread("rg-redis-check");
    absl::Status status;
    for (const auto& check : checks) {
      CheckedConnection connection(*this, wire.get());
      if (status.ok()) status = (*check)(connection);
      // The connections to that node are checked, too.
      if (connection.is_elsewhere()) status = absl::OkStatus();
    }
    asio::post(core_.io(), [self = shared_from_this(), its_wire = std::move(wire),
                            status = std::move(status)] { self->checked(its_wire.get(), status); });
    is_checking_ = false;
  });
}

void RedisLine::checked(const RedisWire* wire, const absl::Status& status) {
  check_has_reported_ = true;
  if (std::exchange(checks_are_due_, false)) return run_checks();
  if (!is_current(wire) || phase_ != Phase::kSettingUp) return;
  if (!status.ok()) return fail_attempt(status, Failure::kCheck);
  subscribe_again();
}

void RedisLine::subscribe_again() {
  std::vector<Request> renewal = subscriptions_.renewal();
  if (renewal.empty()) return become_up();
  auto renewing = std::make_unique<InternalSubmission>(
      std::move(renewal),
      [self = shared_from_this(), wire = wire_.get()](std::span<const Reply> replies) {
        if (!self->is_current(wire) || self->phase_ != Phase::kSettingUp) return;
        const auto error = std::find_if(replies.begin(), replies.end(),
                                        [](const Reply& reply) { return reply.is_error(); });
        if (error != replies.end()) {
          return self->fail_attempt(absl::UnavailableError(error->text()), Failure::kSubscription);
        }
        ++self->core_.runtime().counts.resubscriptions;
        self->notify("resubscribed");
        self->become_up();
      });
  if (const auto refusal = submit_to_check(wire_.get(), *renewing)) return;
  static_cast<void>(renewing.release());  // deletes itself
}

void RedisLine::become_up() {
  {
    const Lock lock(mutex_);
    phase_ = Phase::kUp;
    setup_failure_.reset();
  }
  ++core_.runtime().counts.connects;
  if (was_up_) ++core_.runtime().counts.reconnects;
  was_up_ = true;
  has_served_ = false;
  up_since_ms_ = core_.now_ms();
  last_activity_ms_ = 0;  // makes the first request check for a closed connection
  flush();
  if (first_outcome_) std::exchange(first_outcome_, nullptr)(absl::OkStatus());
}

/// Ends an attempt. The shared connection, and those with subscriptions, reconnect by themselves.
/// After a failed check, each attempt waits for the pause.
void RedisLine::fail_attempt(const absl::Status& status, Failure failure) {
  const std::string reason(status.message());
  attempt_timer_.stop();
  patience_timer_.stop();
  checks_are_due_ = false;
  ++core_.runtime().counts.connect_failures;
  if (failure == Failure::kServer) core_.doubt_server();
  const std::int64_t pause_ms = next_pause_ms();
  SubmissionList failed;
  {
    const Lock lock(mutex_);
    if (wire_ != nullptr) wire_->close();
    wire_ = nullptr;
    phase_ = Phase::kDown;
    is_writing_ = false;
    attempt_ended_ms_ = core_.now_ms();
    if (failure != Failure::kServer) {
      setup_failure_ = reason;
      next_attempt_ms_ = attempt_ended_ms_ + pause_ms;
    }
    failed = fail_sent(reason);
    failed.splice(to_encode_);
    failed.splice(setup_);
    failed.splice(waiting_);
  }
  connection_id_ = 0;
  subscriptions_.forget_confirmed();
  if (failure == Failure::kServer && use_ == Use::kShared) mark_dead(reason);
  for (Submission* each = failed.front(); each != nullptr; each = each->next) {
    each->fail_rest(error_code::kClosed, reason);
  }
  if (use_ == Use::kShared || subscriptions_.wanted() > 0) retry_after(pause_ms);
  if (first_outcome_) std::exchange(first_outcome_, nullptr)(status);
  finish_all(failed);
}

void RedisLine::mark_dead(const std::string& reason) {
  const Lock lock(mutex_);
  if (!dead_) ++core_.runtime().counts.breaker_openings;
  dead_ = reason;
}

/// Returns the next pause, which grows until a connection was useful.
std::int64_t RedisLine::next_pause_ms() {
  const std::int64_t longest_ms = std::max(core_.options().reconnect_max_ms, kFirstPauseMs);
  backoff_ms_ = std::clamp(backoff_ms_ * 2, kFirstPauseMs, longest_ms);
  return with_jitter(backoff_ms_);
}

void RedisLine::retry_after(std::int64_t pause_ms) {
  if (pause_ms <= 0) return start_attempt();
  retry_timer_.start(pause_ms, [self = shared_from_this()] { self->start_attempt(); });
}

/// Fails the requests that wait for the connection. The attempt continues.
void RedisLine::fail_waiting(const std::string& reason) {
  SubmissionList failed;
  {
    const Lock lock(mutex_);
    failed.splice(waiting_);
  }
  for (Submission* each = failed.front(); each != nullptr; each = each->next) {
    ++core_.runtime().counts.breaker_refusals;
    each->fail_rest(error_code::kClosed, reason);
  }
  finish_all(failed);
}

void RedisLine::join_check() {
  if (check_.joinable()) check_.join();
}

void RedisLine::close(const std::string& reason) {
  attempt_timer_.stop();
  patience_timer_.stop();
  retry_timer_.stop();
  checks_are_due_ = false;
  SubmissionList failed;
  SubmissionList unsent;
  {
    const Lock lock(mutex_);
    if (wire_ != nullptr) wire_->close();
    wire_ = nullptr;
    phase_ = Phase::kClosed;
    closed_reason_ = reason;
    is_closed_ = true;
    failed = fail_sent(reason);
    unsent.splice(to_encode_);
    unsent.splice(setup_);
    unsent.splice(waiting_);
  }
  connection_id_ = 0;
  for (Submission* each = unsent.front(); each != nullptr; each = each->next) {
    each->fail_rest(error_code::kClosed, reason);
  }
  failed.splice(unsent);
  if (first_outcome_) std::exchange(first_outcome_, nullptr)(absl::UnavailableError(reason));
  finish_all(failed);
}

// ---- Sending ------------------------------------------------------------------------------------

/// Sends the encoded bytes, as many as the socket accepts.
void RedisLine::flush() {
  std::shared_ptr<RedisWire> wire;
  {
    const Lock lock(mutex_);
    flush_is_posted_ = false;
    if (is_write_blocked_ || (phase_ != Phase::kUp && phase_ != Phase::kSettingUp)) return;
    wire = wire_;
    expecting_.splice(handed_);
    SubmissionList& source = phase_ == Phase::kUp ? waiting_ : setup_;
    const bool has_begun = has_more_to_send();
    const bool may_begin = confirmation_ == nullptr && !source.empty();
    if (!has_begun && !may_begin) return;
    const bool is_idle = !has_begun && expecting_.empty() && phase_ == Phase::kUp;
    // Begins nothing on a connection that the server has closed: received() is about to run.
    if (is_idle && is_stale(*wire)) return;
    if (expecting_.empty()) last_activity_ms_ = core_.now_ms();
    if (may_begin) to_encode_.splice(source);
    is_writing_ = true;
  }
  while (out_sent_ < out_.size() || fill_chunk()) {
    ++core_.runtime().counts.writes;
    if (!wire->is_plain()) {
      is_write_blocked_ = true;
      wire->write(out_);
      return;
    }
    const ssize_t sent = wire->send(std::string_view(out_).substr(out_sent_));
    if (sent < 0) {
      is_write_blocked_ = true;
      // After a failed send, the server's last replies must still be read: received() detects the
      // end.
      if (would_block(errno)) wire->wait_until_writable();
      return;
    }
    out_sent_ += static_cast<std::size_t>(sent);
    // The oldest one takes a while to send if it is long. Later ones do not show that the server lives.
    if (chunk_first_ == expecting_.front()) last_activity_ms_ = core_.now_ms();
  }
  const Lock lock(mutex_);
  is_writing_ = false;
}

/// Encodes the next requests. Returns false if there are none.
bool RedisLine::fill_chunk() {
  if (out_.capacity() > kKeptBytesMax) out_ = std::string();
  out_.clear();
  out_sent_ = 0;
  chunk_ends_.clear();
  chunk_first_ = partial_;
  while (out_.size() < kChunkBytes) {
    if (partial_ == nullptr) {
      partial_ = is_doomed_ ? nullptr : next_to_encode();
      if (partial_ == nullptr) break;
      expecting_.push_back(*partial_);
      if (chunk_first_ == nullptr) chunk_first_ = partial_;
    }
    encode(*partial_);
    if (partial_->encoded == partial_->requests.size()) partial_ = nullptr;
  }
  return !out_.empty();
}

/// Returns true in the middle of a submission, or of a batch.
bool RedisLine::has_more_to_send() const {
  return out_sent_ < out_.size() || partial_ != nullptr || !to_encode_.empty() ||
         needs_confirmation_;
}

/// Returns null if there is none.
Submission* RedisLine::next_to_encode() {
  if (!to_encode_.empty()) {
    needs_confirmation_ = use_ == Use::kConfirming && phase_ == Phase::kUp;
    return &to_encode_.pop_front();
  }
  if (!std::exchange(needs_confirmation_, false)) return nullptr;
  const Lock lock(mutex_);
  return &make_confirmation();
}

void RedisLine::can_write(RedisWire& wire, const std::string& failure) {
  if (!failure.empty()) return;  // received() reports it too
  is_write_blocked_ = false;
  if (!wire.is_plain()) out_sent_ = out_.size();
  {
    // After a complete chunk, flush() stops its loop to compute the rest.
    const Lock lock(mutex_);
    is_writing_ = has_more_to_send();
  }
  flush();
}

// ---- Receiving ----------------------------------------------------------------------------------

void RedisLine::received(RedisWire& wire, std::string_view bytes, const std::string& failure) {
  if (!failure.empty()) return lose(failure, false);
  last_activity_ms_ = core_.now_ms();
  SubmissionList finished;
  std::string broken;
  reader_->feed(bytes);
  while (broken.empty()) {
    auto reply = reader_->next();
    if (!reply) break;
    broken = take_reply(*std::move(reply), finished);
    has_served_ = has_served_ || phase_ == Phase::kUp;
  }
  if (broken.empty()) broken = reader_->error();
  {
    const Lock lock(mutex_);
    for (Submission* each = finished.front(); each != nullptr; each = each->next) --unfinished_;
  }
  if (broken.empty()) flush();
  while (!finished.empty()) core_.finish(finished.pop_front());
  if (!is_current(&wire)) return;
  if (!broken.empty()) return lose(broken, false);
  const bool is_drained = expecting_.empty() && partial_ == nullptr;
  if (is_doomed_ && is_drained) lose("the server cannot serve now", false);
}

/// Handles a reply. Returns the reason to end the connection; empty if there is none.
std::string_view RedisLine::take_reply(Reply reply, SubmissionList& finished) {
  constexpr std::string_view kUnexpected = "a reply to no request";
  if (on_message_ && subscriptions_.is_message(reply)) {
    return take_message(reply) ? "" : "too many messages wait for on_message";
  }
  if (expecting_.empty() && !take_handed()) {
    if (phase_ == Phase::kSettingUp && reply.is_error()) note_refusal(reply);
    return kUnexpected;
  }
  Submission& submission = *expecting_.front();
  if (submission.encoded == submission.replies.size()) return kUnexpected;
  if (&submission == greeting_ && reply.is_error() && submission.replies.empty()) {
    note_refusal(reply);  // a full server sends nothing else
    return kUnexpected;
  }
  if (reply.is_error()) reply = with_code_first(std::move(reply));
  if (phase_ == Phase::kUp && ends_connection(reply)) is_doomed_ = true;
  if (on_message_ && !reply.is_error()) {
    const Request& request = submission.requests[submission.replies.size()];
    if (const auto expected = subscriptions_.confirmations_of(request)) {
      if (confirmations_.empty()) confirmations_left_ = *expected;
      subscriptions_.note_confirmation(reply);
      confirmations_.push_back(std::move(reply));
      if (--confirmations_left_ > 0) return {};
      reply = Reply::several(std::exchange(confirmations_, {}));
    }
  }
  submission.replies.push_back(std::move(reply));
  if (submission.is_complete()) {
    expecting_.pop_front();
    complete(submission, finished);
  } else if (submission.replies.size() == 1) {
    submission.first_reply();
  }
  return {};
}

/// Adds a complete submission to `finished`. On a confirming line, the end of its batch does so.
void RedisLine::complete(Submission& submission, SubmissionList& finished) {
  if (use_ != Use::kConfirming || phase_ != Phase::kUp) return finished.push_back(submission);
  if (&submission != confirmation_) return unconfirmed_.push_back(submission);
  confirmation_ = nullptr;
  const RedisOptions& options = core_.options();
  const ReplicaWait asked{options.confirm_replicas, options.confirm_ms};
  if (const auto failure = asked.failure(submission.replies)) {
    make_unknown(unconfirmed_, *failure);
  }
  if (ReplicaWait::is_key_elsewhere(submission.replies)) core_.change_write_key();
  finished.splice(unconfirmed_);
  finished.push_back(submission);
}

/// Returns false if on_message_ lags too far behind: the message is lost.
bool RedisLine::take_message(Reply& message) {
  const std::size_t bytes = memory_bytes(message);
  const std::size_t bytes_before = message_bytes_->fetch_add(bytes);
  if (bytes_before != 0 && bytes_before + bytes > core_.options().message_bytes_max) {
    message_bytes_->fetch_sub(bytes);
    return false;
  }
  core_.runtime().callbacks().run([on_message = on_message_, message = std::move(message), bytes,
                                   waiting_bytes = message_bytes_]() mutable {
    waiting_bytes->fetch_sub(bytes);
    on_message(std::move(message));
  });
  return true;
}

/// Returns true if a new connection would soon bring too many messages again.
bool RedisLine::has_backlog() const {
  return message_bytes_->load() > core_.options().message_bytes_max / 2;
}

/// Takes over the requests sent by calling threads. Returns true if there were any.
bool RedisLine::take_handed() {
  const Lock lock(mutex_);
  const bool any = !handed_.empty();
  expecting_.splice(handed_);
  return any;
}

/// Notifies the subscriber of a change of its connection.
void RedisLine::notify(std::string_view event) {
  const auto count = static_cast<std::int64_t>(subscriptions_.wanted());
  core_.runtime().callbacks().run([on_message = on_message_, name = std::string(event), count] {
    on_message(Reply::array({Reply::bulk(name), Reply::nil(), Reply::integer(count)}));
  });
}

/// Returns true unless the server closed the last connection at once.
bool RedisLine::was_of_use() const {
  return has_served_ || core_.now_ms() - up_since_ms_ >= core_.options().reconnect_max_ms;
}

/// Ends the connection. `is_silence`: the server accepts bytes but sends none.
void RedisLine::lose(const std::string& reason, bool is_silence) {
  const std::string text = concat(server_name(), ": ", reason);
  const bool was_up = phase_ == Phase::kUp;
  const bool has_subscriptions = subscriptions_.wanted() > 0;
  bool ends = false;
  bool is_needed = use_ == Use::kShared || has_subscriptions;
  SubmissionList failed;
  {
    const Lock lock(mutex_);
    has_lost_state_ = has_lost_state_ || (was_up && keeps_state_);
    ends = has_lost_state_ && !has_subscriptions;
    wire_->close();
    wire_ = nullptr;
    is_writing_ = false;
    phase_ = ends ? Phase::kClosed : Phase::kDown;
    failed = fail_sent(text);
    if (was_up) {  // requests that have not begun wait for the next connection
      to_encode_.splice(waiting_);
      std::swap(to_encode_, waiting_);
    }
    if (has_lost_state_ && closed_reason_.empty()) {
      closed_reason_ = concat(text, ": what the client had changed is lost");
    }
    is_needed = is_needed || !waiting_.empty();
  }
  connection_id_ = 0;
  subscriptions_.forget_confirmed();
  if (!was_up) {  // the greeting among them notes its error
    finish_all(failed);
    const absl::Status status =
        greeting_error_.ok() ? absl::UnavailableError(cannot_connect(reason)) : greeting_error_;
    return fail_attempt(status, Failure::kServer);
  }
  ++core_.runtime().counts.losses;
  core_.note_trouble();
  if (is_silence && use_ == Use::kShared) mark_dead(text);
  if (has_subscriptions) notify("disconnected");
  if (has_lost_state_) fail_waiting(closed_reason_);
  if (ends) return finish_all(failed);
  if (was_of_use()) backoff_ms_ = 0;
  // A useless connection is also replaced at once, but not repeatedly.
  const bool must_pause = backoff_ms_ > 0 || has_backlog();
  if (!was_of_use()) backoff_ms_ = std::max(backoff_ms_, kFirstPauseMs);
  if (must_pause) {
    fail_attempt(absl::UnavailableError(text),
                 has_backlog() ? Failure::kSubscription : Failure::kServer);
  } else if (is_needed) {
    start_attempt();
  }
  finish_all(failed);
}

/// Gives an error to everything that has begun, and returns it. Requires mutex_.
SubmissionList RedisLine::fail_sent(const std::string& reason) {
  expecting_.splice(handed_);
  const auto first_unsent =
      std::upper_bound(chunk_ends_.begin(), chunk_ends_.end(), out_sent_) - chunk_ends_.begin();
  std::size_t unsent = chunk_ends_.size() - static_cast<std::size_t>(first_unsent);
  // Over TLS the sent part of a chunk is unknown.
  if (out_sent_ == out_.size() || core_.tls() != nullptr) unsent = 0;
  // The last encoded requests are those of the chunk.
  std::vector<Submission*> begun;
  for (Submission* each = expecting_.front(); each != nullptr; each = each->next) {
    begun.push_back(each);
  }
  std::ranges::reverse(begun);
  for (Submission* const submission : begun) {
    const std::size_t of_this = std::min(unsent, submission->encoded - submission->replies.size());
    unsent -= of_this;
    while (submission->replies.size() < submission->encoded - of_this) {
      submission->replies.push_back(Reply::error(concat(error_code::kOutcomeUnknown, " ", reason)));
    }
    submission->fail_rest(error_code::kClosed, reason);
  }
  out_.clear();
  out_sent_ = 0;
  chunk_ends_.clear();
  confirmations_.clear();
  confirmation_ = nullptr;
  needs_confirmation_ = false;
  partial_ = nullptr;
  is_write_blocked_ = false;
  is_doomed_ = false;
  make_unknown(unconfirmed_, reason);
  SubmissionList failed = std::exchange(unconfirmed_, {});
  failed.splice(expecting_);
  return failed;
}

void RedisLine::finish_all(SubmissionList& finished) {
  {
    const Lock lock(mutex_);
    for (Submission* each = finished.front(); each != nullptr; each = each->next) --unfinished_;
  }
  while (!finished.empty()) core_.finish(finished.pop_front());
}

// ---- Time ---------------------------------------------------------------------------------------

bool RedisLine::tick(std::int64_t now_ms) {
  SubmissionList expired;
  bool is_busy = false;
  {
    const Lock lock(mutex_);
    is_busy = unfinished_ > 0;
    expecting_.splice(handed_);
    expired = waiting_.take_expired(now_ms);
    SubmissionList expired_later = to_encode_.take_expired(now_ms);
    expired.splice(expired_later);
  }
  for (Submission* each = expired.front(); each != nullptr; each = each->next) {
    ++core_.runtime().counts.expired;
    each->fail_rest(error_code::kTimedOut, kNotBegunInTime);
  }
  finish_all(expired);
  if (expecting_.empty() || wire_ == nullptr) return is_busy;

  const Submission& oldest = *expecting_.front();
  const auto block_ms = block_timeout_ms(oldest.requests[oldest.replies.size()]);
  if (block_ms == 0 || block_ms > kLongestBlockMs) return is_busy;  // it may never end
  const std::int64_t patience_ms =
      core_.options().command_timeout_ms + (block_ms ? *block_ms + kBlockSlackMs : 0);
  if (now_ms - last_activity_ms_ >= patience_ms) {
    ++core_.runtime().counts.timeouts;
    lose(concat("no reply within ", std::to_string(patience_ms), " ms"), true);
  }
  return is_busy;
}

}  // namespace rushgate
