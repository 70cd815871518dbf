#include "engine/executor/embedded_client.h"

#include <string>
#include <utility>

#include "engine/executor/executor.h"
#include "engine/executor/executor_errors.h"

namespace rushgate {
namespace {

Reply reentrant() { return Reply::error(std::string(executor_errors::kReentrantText)); }

}  // namespace

EmbeddedClient::EmbeddedClient(std::shared_ptr<Executor> executor, const ClientOptions& options)
    : executor_(std::move(executor)), options_(options), session_(std::make_shared<Session>()) {
  session_->id = executor_->next_session_id();
  session_->protocol = options.protocol;
}

EmbeddedClient::~EmbeddedClient() = default;

std::int64_t EmbeddedClient::deadline_ms() const {
  return options_.queue_timeout_ms == 0
             ? 0
             : executor_->clock().monotonic_ms() + options_.queue_timeout_ms;
}

Reply EmbeddedClient::in_protocol(Reply reply) const {
  return options_.protocol == 3 ? std::move(reply) : to_resp2(std::move(reply));
}

std::vector<Reply> EmbeddedClient::in_protocol(Operation::Replies replies) const {
  std::vector<Reply> converted;
  converted.reserve(replies.size());
  for (Reply& reply : replies) converted.push_back(in_protocol(std::move(reply)));
  return converted;
}

Reply EmbeddedClient::call(Request request) {
  if (executor_->inside_turn()) return reentrant();
  if (options_.queue_timeout_ms != 0) {
    return std::move(pipeline({&request, 1}).front());
  }
  Operation operation;
  operation.session = session_.get();
  operation.requests = {&request, 1};
  executor_->run_and_wait(operation, options_.fail_when_full);
  return in_protocol(std::move(operation.replies.front()));
}

std::vector<Reply> EmbeddedClient::pipeline(std::span<const Request> requests) {
  if (requests.empty()) return {};
  if (executor_->inside_turn()) return std::vector<Reply>(requests.size(), reentrant());
  if (options_.queue_timeout_ms != 0) return pipeline_until_deadline(requests);
  Operation operation;
  operation.session = session_.get();
  operation.requests = requests;
  executor_->run_and_wait(operation, options_.fail_when_full);
  return in_protocol(std::move(operation.replies));
}

/// The operation may outlive this call, so it keeps what it needs.
std::vector<Reply> EmbeddedClient::pipeline_until_deadline(std::span<const Request> requests) {
  auto operation = std::make_unique<Operation>();
  operation->owned_requests.assign(requests.begin(), requests.end());
  operation->requests = operation->owned_requests;
  operation->owned_session = session_;
  operation->session = session_.get();
  operation->deadline_ms = deadline_ms();
  if (!executor_->run_and_wait(*operation, options_.fail_when_full)) {
    static_cast<void>(operation.release());  // the executor's now
    return std::vector<Reply>(requests.size(),
                              Reply::error(std::string(executor_errors::kTimedOutText)));
  }
  return in_protocol(std::move(operation->replies));
}

void EmbeddedClient::submit(Request request, Completion completion) {
  auto operation = std::make_unique<Operation>();
  operation->owned_requests.push_back(std::move(request));
  operation->requests = operation->owned_requests;
  operation->owned_session = session_;
  operation->session = session_.get();
  operation->deadline_ms = deadline_ms();
  operation->completion = [resp3 = options_.protocol == 3,
                           completion = std::move(completion)](Operation::Replies replies) mutable {
    completion(resp3 ? std::move(replies.front()) : to_resp2(std::move(replies.front())));
  };
  if (executor_->inside_turn()) {
    operation->replies.push_back(reentrant());
    executor_->service().complete(std::move(operation));
    return;
  }
  executor_->post(std::move(operation), options_.fail_when_full);
}

Reply EmbeddedClient::sync() {
  const absl::Status synced = executor_->sync();
  return synced.ok() ? Reply::ok() : Reply::error(executor_errors::outcome_unknown(synced));
}

Request EmbeddedClient::script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const {
  if (!script.native_twin().empty() && executor_->knows_native(script.native_twin())) {
    return make_script_request("FCALL", script.native_twin(), keys, arguments);
  }
  return Client::script_request(script, keys, arguments);
}

}  // namespace rushgate
