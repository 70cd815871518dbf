#include "adapters/redis/redis_client.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "adapters/redis/redis_session.h"
#include "adapters/redis/replica_wait.h"
#include "adapters/redis/request_timeout.h"
#include "adapters/redis/text.h"
#include "adapters/redis/transaction_state.h"
#include "adapters/redis/waiting_submission.h"
#include "engine/core/client/command_traits.h"
#include "engine/core/client/thread_wait.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

/// Passes its replies to a completion on the callback thread. Deletes itself.
class CallbackSubmission final : public Submission {
 public:
  CallbackSubmission(RedisRuntime& runtime, Route its_route, Request request, Completion completion)
      : Submission({}), runtime_(runtime), completion_(std::move(completion)) {
    owned_.push_back(std::move(request));
    requests = owned_;
    bytes = owned_.back().bytes();
    route = its_route;
  }

  [[nodiscard]] bool announces_begin() const override { return true; }
  bool announce_begin() override {
    owned_.insert(owned_.begin(), Request::of("PING"));
    requests = owned_;
    return true;
  }
  void first_reply() override {
    if (session != nullptr) session->begun(*this);
  }
  void note_replies() override {
    waiting_bytes_ = bytes + memory_bytes(replies.back());
    runtime_.note_waiting_completion(waiting_bytes_);
  }
  void finish() override {
    runtime_.callbacks().run([self = std::unique_ptr<CallbackSubmission>(this)] {
      self->runtime_.note_running_completion(self->waiting_bytes_);
      self->completion_(std::move(self->replies.back()));
    });
  }

 private:
  RedisRuntime& runtime_;
  std::vector<Request> owned_;
  Completion completion_;
  std::size_t waiting_bytes_ = 0;  // until the completion runs
};

/// Deletes itself.
class LateSubmission final : public Submission {
 public:
  explicit LateSubmission(LateRequest& late) : Submission({}), late_(late) {
    requests = {&request_, 1};
  }

  void prepare() override {
    try {
      request_ = late_.make();
    } catch (const std::bad_alloc&) {
      is_made_ = false;
    }
  }
  void finish() override {
    const std::unique_ptr<LateSubmission> self(this);
    late_.complete(is_made_ ? std::move(replies.front()) : no_memory());
  }
  static Reply no_memory() {
    return Reply::error(concat(error_code::kOverloaded, " no memory for the request"));
  }

 private:
  LateRequest& late_;
  Request request_ = Request::of("PING");  // sent if there is no memory for the real one
  bool is_made_ = true;
};

}  // namespace

Route route_of(std::span<const Request> requests) {
  Route route = Route::kShared;
  TransactionState transaction;
  for (const Request& request : requests) {
    const ConnectionUse use = command_traits(request).connection;
    transaction.note(use);
    switch (use) {
      case ConnectionUse::kChangesState:
      case ConnectionUse::kSubscribes:
        return Route::kOwn;
      case ConnectionUse::kWatches:
      case ConnectionUse::kBeginsTransaction:
        route = Route::kLeased;
        break;
      case ConnectionUse::kMayBlock:
        if (block_timeout_ms(request)) route = Route::kLeased;
        break;
      case ConnectionUse::kUnwatches:
      case ConnectionUse::kEndsTransaction:
      case ConnectionUse::kOrdinary:
      case ConnectionUse::kUnsupported:
        break;
    }
  }
  return transaction.is_open() ? Route::kOwn : route;
}

// ---- The client ---------------------------------------------------------------------------------

RedisClient::RedisClient(std::shared_ptr<ClientSession> session) : session_(std::move(session)) {}

RedisClient::~RedisClient() { session_->close(); }

/// Returns the error of a request that must not be sent, or nil.
Reply RedisClient::refusal(const Request& request) const {
  // The server reads an empty array and sends no reply.
  if (request.empty()) return Reply::error("ERR the request has no command");
  if (session_->options().protocol != 2) {
    return Reply::error("ERR a client of a Redis server speaks RESP2 alone");
  }
  const ConnectionUse use = command_traits(request).connection;
  if (use == ConnectionUse::kSubscribes && !session_->options().on_message) {
    return Reply::error("ERR this client takes no messages: ClientOptions::on_message is not set");
  }
  if (use != ConnectionUse::kUnsupported) return Reply::nil();
  return Reply::error(concat("ERR '", request[0], "' is not supported by this client"));
}

void RedisClient::submit(Request request, Completion completion) {
  RedisRuntime& runtime = session_->runtime();
  Reply error = refusal(request);
  if (!error.is_error()) {
    const Route route = route_of({&request, 1});
    auto submission = std::make_unique<CallbackSubmission>(runtime, route, std::move(request),
                                                           std::move(completion));
    auto refused = session_->submit(*submission);
    if (!refused) return static_cast<void>(submission.release());  // deletes itself
    submission->replies.assign({*std::move(refused)});
    submission->note_replies();
    return submission.release()->finish();
  }
  runtime.callbacks().run([error = std::move(error), completion = std::move(completion)]() mutable {
    completion(std::move(error));
  });
}

void RedisClient::submit_late(LateRequest& request) {
  std::unique_ptr<LateSubmission> submission;
  try {
    submission = std::make_unique<LateSubmission>(request);
  } catch (const std::bad_alloc&) {
    return request.complete(LateSubmission::no_memory());
  }
  auto refused = session_->submit(*submission);
  if (!refused) return static_cast<void>(submission.release());  // deletes itself
  request.complete(*std::move(refused));
}

Reply RedisClient::call(Request request) {
  Reply error = refusal(request);
  if (error.is_error()) return error;
  return std::move(exchange({&request, 1}).front());
}

std::vector<Reply> RedisClient::pipeline(std::span<const Request> requests) {
  std::vector<Reply> replies(requests.size());
  bool any_refused = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    replies[i] = refusal(requests[i]);
    any_refused = any_refused || replies[i].is_error();
  }
  if (requests.empty()) return replies;
  if (!any_refused) return exchange(requests);

  std::vector<Request> sent;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (replies[i].is_error()) continue;
    sent.push_back(requests[i]);
    positions.push_back(i);
  }
  if (sent.empty()) return replies;
  std::vector<Reply> received = exchange(sent);
  for (std::size_t i = 0; i < sent.size(); ++i) replies[positions[i]] = std::move(received[i]);
  return replies;
}

std::vector<Reply> RedisClient::exchange(std::span<const Request> requests) {
  const Route route = route_of(requests);
  std::optional<Reply> refused;
  std::vector<Reply> replies;
  std::optional<WaitingSubmission> submission;
  wait_method(session_->options().wait).wait([&](WaitMethod::Event& finished) {
    submission.emplace(requests, finished);
    submission->route = route;
    refused = session_->submit(*submission);
    if (refused) finished.happen();
  });
  if (!refused) replies = submission->take_replies();
  if (refused) replies.assign(requests.size(), *refused);
  return replies;
}

void RedisClient::unblock() { session_->unblock(); }

bool RedisClient::inside_callback() const { return session_->runtime().callbacks().is_current(); }

Reply RedisClient::wait_for_replicas(std::optional<std::string_view> key) {
  const RedisOptions& options = session_->runtime().options();
  if (options.sync_replicas == 0) {
    Reply pong = call(Request::of("PING"));
    return pong.is_error() ? pong : Reply::ok();
  }
  // WAIT blocks its connection, so the shared one is unsuitable.
  const ReplicaWait wait{options.sync_replicas, options.sync_timeout_ms};
  const auto waits = session_->replica_waits(wait, key);
  if (!waits.ok()) return Reply::error(concat("NOREPLICAS ", waits.status().message()));
  for (const std::vector<Request>& requests : *waits) {
    const std::vector<Reply> replies = exchange(requests);
    if (ReplicaWait::is_key_elsewhere(replies)) {
      return Reply::error(concat("NOREPLICAS a slot of the master moves: ", replies[0].text()));
    }
    const auto error = std::ranges::find_if(replies, &Reply::is_error);
    if (error != replies.end()) return *error;
    const auto reason = wait.failure(replies);
    if (reason) return Reply::error(concat("NOREPLICAS ", *reason));
  }
  return Reply::ok();
}

}  // namespace rushgate
