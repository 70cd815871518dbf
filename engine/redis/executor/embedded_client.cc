#include "engine/redis/executor/embedded_client.h"

#include <functional>
#include <string>
#include <utility>

#include "engine/redis/executor/executor.h"
#include "engine/redis/executor/executor_errors.h"

namespace rushgate {
namespace {

Reply reentrant() { return executor_errors::reply(executor_errors::kReentrantText); }

/// Converts a reply. Without memory for it, the outcome is reported as unknown.
Reply in_protocol(Reply reply, int protocol) noexcept {
  try {
    return protocol == 3 ? std::move(reply) : to_resp2(std::move(reply));
  } catch (const std::bad_alloc&) {
    return executor_errors::reply(error_code::kOutcomeUnknown);
  }
}

/// Replies in the protocol of a client. Reserves their memory before the requests run.
class ConvertedReplies {
 public:
  explicit ConvertedReplies(std::size_t count) { converted_.reserve(count); }

  std::vector<Reply> take(Operation::Replies replies, int protocol) {
    for (Reply& reply : replies) converted_.push_back(in_protocol(std::move(reply), protocol));
    return std::move(converted_);
  }

 private:
  std::vector<Reply> converted_;
};

/// Belongs to the session, which the executor outlives.
class EmbeddedOutlet final : public Outlet {
 public:
  EmbeddedOutlet(Executor& executor, std::function<void(Reply)> on_message)
      : executor_(executor), on_message_(std::move(on_message)) {}

  void push(Reply message, std::uint64_t /*after_replies*/) override {
    auto operation = std::make_unique<Operation>();
    operation->replies.push_back(std::move(message));
    operation->completion = [on_message = on_message_](Operation::Replies replies,
                                                       int /*protocol*/) {
      on_message(std::move(replies.front()));
    };
    executor_.service().complete(std::move(operation));
  }
  void hang_up() override {}

 private:
  Executor& executor_;
  const std::function<void(Reply)> on_message_;
};

}  // namespace

EmbeddedClient::EmbeddedClient(std::shared_ptr<Executor> executor, const ClientOptions& options)
    : executor_(std::move(executor)), options_(options), session_(std::make_shared<Session>()) {
  session_->protocol = options.protocol;
  if (options.on_message) {
    session_->outlet = std::make_shared<EmbeddedOutlet>(*executor_, options.on_message);
  }
  session_end_ = Executor::make_session_end(session_);
  executor_->begin_session(session_);
}

EmbeddedClient::~EmbeddedClient() { executor_->end_session(std::move(session_end_)); }

std::int64_t EmbeddedClient::deadline_ms() const {
  return options_.queue_timeout_ms == 0 || executor_->is_closed()
             ? 0
             : executor_->clock().monotonic_ms() + options_.queue_timeout_ms;
}

std::unique_ptr<Operation> EmbeddedClient::new_operation() const {
  auto operation = std::make_unique<Operation>();
  operation->owned_session = session_;
  operation->session = session_.get();
  operation->deadline_ms = deadline_ms();
  return operation;
}

Reply EmbeddedClient::call(Request request) {
  if (executor_->inside_turn()) return reentrant();
  if (options_.queue_timeout_ms != 0 || options_.wait != nullptr) {
    return std::move(pipeline({&request, 1}).front());
  }
  Operation operation;
  operation.session = session_.get();
  operation.requests = {&request, 1};
  executor_->run_and_wait(operation, options_.fail_when_full);
  return in_protocol(std::move(operation.replies.front()), operation.protocol);
}

std::vector<Reply> EmbeddedClient::pipeline(std::span<const Request> requests) {
  if (requests.empty()) return {};
  if (executor_->inside_turn()) return std::vector<Reply>(requests.size(), reentrant());
  if (suspends_callers()) return pipeline_suspended(requests);
  if (options_.queue_timeout_ms != 0) return pipeline_until_deadline(requests);
  ConvertedReplies converted(requests.size());
  Operation operation;
  operation.session = session_.get();
  operation.requests = requests;
  executor_->run_and_wait(operation, options_.fail_when_full);
  return converted.take(std::move(operation.replies), operation.protocol);
}

bool EmbeddedClient::suspends_callers() const {
  return options_.wait != nullptr && !executor_->service().inside_callback();
}

std::vector<Reply> EmbeddedClient::pipeline_suspended(std::span<const Request> requests) {
  std::vector<Reply> replies;
  options_.wait->wait([&](WaitMethod::Event& replied) {
    submit_all(requests, [&](std::vector<Reply> received) {
      replies = std::move(received);
      replied.happen();
    });
  });
  return replies;
}

/// The operation may outlive this call, so it owns its data.
std::vector<Reply> EmbeddedClient::pipeline_until_deadline(std::span<const Request> requests) {
  auto operation = new_operation();
  operation->owned_requests.assign(requests.begin(), requests.end());
  operation->requests = operation->owned_requests;
  ConvertedReplies converted(requests.size());
  if (!executor_->run_and_wait(*operation, options_.fail_when_full)) {
    static_cast<void>(operation.release());  // owned by the executor now
    return std::vector<Reply>(requests.size(),
                              Reply::error(std::string(executor_errors::kTimedOutText)));
  }
  return converted.take(std::move(operation->replies), operation->protocol);
}

void EmbeddedClient::submit(Request request, Completion completion) {
  auto operation = new_operation();
  operation->owned_requests.push_back(std::move(request));
  operation->requests = operation->owned_requests;
  operation->completion = [completion = std::move(completion)](Operation::Replies replies,
                                                               int protocol) mutable {
    completion(in_protocol(std::move(replies.front()), protocol));
  };
  post(std::move(operation));
}

void EmbeddedClient::submit_all(std::span<const Request> requests, PipelineCompletion completion) {
  auto operation = new_operation();
  operation->requests = requests;
  operation->completion = [completion = std::move(completion),
                           converted = ConvertedReplies(requests.size())](
                              Operation::Replies replies, int protocol) mutable {
    completion(converted.take(std::move(replies), protocol));
  };
  post(std::move(operation));
}

void EmbeddedClient::post(std::unique_ptr<Operation> operation) {
  if (executor_->inside_turn()) {
    operation->reserve_replies();
    operation->fail_rest(executor_errors::kReentrantText);
    executor_->service().complete(std::move(operation));
    return;
  }
  executor_->post(std::move(operation), options_.fail_when_full);
}

void EmbeddedClient::unblock() { executor_->unblock_session(session_); }

bool EmbeddedClient::inside_callback() const { return executor_->service().inside_callback(); }

Reply EmbeddedClient::sync() {
  if (executor_->is_closed()) return Reply::error(std::string(executor_errors::kClosedText));
  const absl::Status synced = executor_->sync();
  return synced.ok() ? Reply::ok() : Reply::error(executor_errors::outcome_unknown(synced));
}

Request EmbeddedClient::script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const {
  if (!script.native_name().empty() && executor_->knows_native(script.native_name())) {
    return make_script_request("FCALL", script.native_name(), keys, arguments);
  }
  return Client::script_request(script, keys, arguments);
}

}  // namespace rushgate
