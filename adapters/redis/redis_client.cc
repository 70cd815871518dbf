#include "adapters/redis/redis_client.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "adapters/redis/command_traits.h"
#include "adapters/redis/redis_connection.h"
#include "adapters/redis/text.h"
#include "engine/client/errors.h"

namespace rushgate {

namespace {

/// The client of a ConnectionCheck. Not thread-safe.
class SingleConnection final : public Client {
 public:
  explicit SingleConnection(RedisConnection& connection) : connection_(connection) {}

  void submit(Request request, Completion completion) override {
    completion(call(std::move(request)));
  }
  Reply call(Request request) override {
    Reply reply;
    is_alive_ = connection_.exchange({&request, 1}, {&reply, 1}) && is_alive_;
    return reply;
  }
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    std::vector<Reply> replies(requests.size());
    if (!requests.empty()) is_alive_ = connection_.exchange(requests, replies) && is_alive_;
    return replies;
  }
  void unblock() override {}
  Reply sync() override { return call(Request::of("PING")); }

  [[nodiscard]] bool is_alive() const { return is_alive_; }

 private:
  RedisConnection& connection_;
  bool is_alive_ = true;
};

}  // namespace

// ---- The pool -----------------------------------------------------------------------------------

/// Thread-safe. Hands out connections, at most connections_max at a time.
class RedisClient::Pool {
 public:
  explicit Pool(RedisOptions options) : options_(std::move(options)) {}

  /// An idle connection or a new one. kDeadlineExceeded: all were in use for command_timeout_ms;
  /// else RedisConnection::open()'s errors.
  absl::StatusOr<std::unique_ptr<RedisConnection>> take() {
    auto taken = reserve();
    if (!taken.ok()) return taken;
    if (*taken == nullptr) taken = open_checked();
    if (!taken.ok()) {
      close(0);
      return taken;
    }
    const std::lock_guard lock(mutex_);
    busy_ids_.insert((*taken)->id());
    return taken;
  }

  void give_back(std::unique_ptr<RedisConnection> connection) {
    {
      const std::lock_guard lock(mutex_);
      busy_ids_.erase(connection->id());
      idle_.push_back(std::move(connection));
    }
    can_take_.notify_one();
  }

  /// Instead of give_back(), for a connection that is not to be used again.
  void drop(std::unique_ptr<RedisConnection> connection) {
    const std::int64_t id = connection->id();
    connection.reset();  // before another may be opened in its place
    close(id);
  }

  /// Beyond connections_max, and not to be given back.
  [[nodiscard]] absl::StatusOr<std::unique_ptr<RedisConnection>> open_one_more() const {
    return RedisConnection::open(options_);
  }

  void add_check(std::weak_ptr<const ConnectionCheck> check) {
    const std::lock_guard lock(mutex_);
    std::erase_if(checks_, [](const auto& known) { return known.expired(); });
    checks_.push_back(std::move(check));
  }

  /// What the server calls the connections that are in use.
  [[nodiscard]] std::vector<std::int64_t> busy_ids() const {
    const std::lock_guard lock(mutex_);
    return {busy_ids_.begin(), busy_ids_.end()};
  }

 private:
  absl::StatusOr<std::unique_ptr<RedisConnection>> open_checked() {
    std::vector<std::weak_ptr<const ConnectionCheck>> checks;
    {
      const std::lock_guard lock(mutex_);
      checks = checks_;
    }
    auto connection = RedisConnection::open(options_);
    if (!connection.ok()) return connection;
    SingleConnection client(**connection);
    for (const auto& kept : checks) {
      const auto check = kept.lock();
      if (check == nullptr) continue;
      if (const absl::Status passed = (*check)(client); !passed.ok()) return passed;
      if (!client.is_alive()) {
        return absl::UnavailableError(concat(options_.address(), ": the connection was lost"));
      }
    }
    return connection;
  }

  void close(std::int64_t id) {
    {
      const std::lock_guard lock(mutex_);
      busy_ids_.erase(id);
      --open_;
    }
    can_take_.notify_one();
  }

  /// An idle connection, or null and the right to open one.
  absl::StatusOr<std::unique_ptr<RedisConnection>> reserve() {
    std::unique_lock lock(mutex_);
    const auto can_take = [this] { return !idle_.empty() || open_ < options_.connections_max; };
    const std::chrono::milliseconds patience(options_.command_timeout_ms);
    if (!can_take_.wait_for(lock, patience, can_take)) {
      return absl::DeadlineExceededError(concat("all ", std::to_string(options_.connections_max),
                                                " connections were in use for ",
                                                std::to_string(patience.count()), " ms"));
    }
    while (!idle_.empty()) {
      std::unique_ptr<RedisConnection> connection = std::move(idle_.back());
      idle_.pop_back();
      // A server that restarted hung up on all of them: found out now, nothing has been sent yet.
      if (!connection->is_stale()) return connection;
      --open_;
    }
    ++open_;
    return nullptr;
  }

  const RedisOptions options_;
  std::condition_variable can_take_;

  // Guarded by mutex_:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<RedisConnection>> idle_;        // last used, last
  int open_ = 0;                                              // idle or handed out
  absl::flat_hash_set<std::int64_t> busy_ids_;                // of those handed out
  std::vector<std::weak_ptr<const ConnectionCheck>> checks_;  // of new connections
};

// ---- Requests -----------------------------------------------------------------------------------

namespace {

Reply to_reply(const absl::Status& status) {
  const bool waited = absl::IsDeadlineExceeded(status);
  return Reply::error(concat(waited ? error_code::kTimedOut : error_code::kClosed, " ",
                             std::string(status.message())));
}

/// The error of a request that must not be sent, or nil.
Reply refusal(const Request& request) {
  // The server reads an empty array, and says nothing.
  if (request.empty()) return Reply::error("ERR empty request");
  if (connection_use(request) != ConnectionUse::kUnsupported) return Reply::nil();
  return Reply::error(
      concat("ERR '", request[0], "' is not supported through a shared connection"));
}

bool leaves_state(const Request& request) {
  return connection_use(request) == ConnectionUse::kLeavesState;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisClient>> RedisClient::connect(const RedisOptions& options) {
  if (const absl::Status status = options.check(); !status.ok()) return status;
  auto pool = std::make_unique<Pool>(options);
  auto first = pool->take();
  if (!first.ok()) return first.status();
  pool->give_back(*std::move(first));
  return std::unique_ptr<RedisClient>(new RedisClient(std::move(pool)));
}

RedisClient::RedisClient(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}

RedisClient::~RedisClient() = default;

void RedisClient::submit(Request request, Completion completion) {
  completion(call(std::move(request)));
}

Reply RedisClient::call(Request request) {
  Reply reply = refusal(request);
  if (reply.is_error()) return reply;
  exchange({&request, 1}, {&reply, 1});
  return reply;
}

std::vector<Reply> RedisClient::pipeline(std::span<const Request> requests) {
  std::vector<Reply> replies(requests.size());
  std::transform(requests.begin(), requests.end(), replies.begin(), refusal);
  const auto refused = [](const Reply& reply) { return reply.is_error(); };
  if (std::none_of(replies.begin(), replies.end(), refused)) {
    exchange(requests, replies);
    return replies;
  }

  std::vector<Request> sent;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (refused(replies[i])) continue;
    sent.push_back(requests[i]);
    positions.push_back(i);
  }
  std::vector<Reply> answers(sent.size());
  exchange(sent, answers);
  for (std::size_t i = 0; i < sent.size(); ++i) replies[positions[i]] = std::move(answers[i]);
  return replies;
}

void RedisClient::exchange(std::span<const Request> requests, std::span<Reply> replies) {
  if (requests.empty()) return;
  auto connection = pool_->take();
  if (!connection.ok()) {
    std::fill(replies.begin(), replies.end(), to_reply(connection.status()));
    return;
  }
  const bool alive = (*connection)->exchange(requests, replies);
  if (alive && std::none_of(requests.begin(), requests.end(), leaves_state)) {
    pool_->give_back(*std::move(connection));
  } else {
    pool_->drop(*std::move(connection));
  }
}

void RedisClient::unblock() {
  const std::vector<std::int64_t> busy = pool_->busy_ids();
  if (busy.empty()) return;
  const auto connection = pool_->open_one_more();
  if (!connection.ok()) return;
  std::vector<Request> requests;
  for (const std::int64_t id : busy) requests.push_back(Request::of("CLIENT", "UNBLOCK", id));
  std::vector<Reply> ignored(requests.size());
  (*connection)->exchange(requests, ignored);
}

Reply RedisClient::sync() {
  Reply answer = call(Request::of("PING"));
  return answer.is_error() ? answer : Reply::ok();
}

void RedisClient::add_connection_check(std::weak_ptr<const ConnectionCheck> check) {
  pool_->add_check(std::move(check));
}

}  // namespace rushgate
