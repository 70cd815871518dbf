#include "engine/executor/served_session.h"

#include <cassert>
#include <iterator>
#include <utility>

#include "engine/executor/executor.h"

namespace rushgate {

ServedSession::ServedSession(Engine& engine, ServedSessionOptions options)
    : executor_(engine.executor_), session_(std::make_shared<Session>()) {
  session_->id = executor_->next_session_id();
  session_->is_authenticated = options.password.empty();
  session_->password = std::move(options.password);
}

ServedSession::~ServedSession() { executor_->end_session(session_); }

void ServedSession::run(std::span<Batch> batches) {
  if (batches.empty()) return;
  std::vector<Operation> operations(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    assert(!batches[i].requests.empty() &&
           batches[i].session->executor_ == batches.front().session->executor_);
    operations[i].session = batches[i].session->session_.get();
    operations[i].requests = batches[i].requests;
  }
  batches.front().session->executor_->run_all_and_wait(operations);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    auto& replies = operations[i].replies;
    batches[i].replies.assign(std::make_move_iterator(replies.begin()),
                              std::make_move_iterator(replies.end()));
  }
}

void ServedSession::submit(Request request, Completion completion) {
  auto operation = std::make_unique<Operation>();
  operation->owned_session = session_;
  operation->session = session_.get();
  operation->owned_requests.push_back(std::move(request));
  operation->requests = operation->owned_requests;
  operation->completion = [completion = std::move(completion)](Operation::Replies replies,
                                                               int /*protocol*/) mutable {
    completion(std::move(replies.front()));
  };
  executor_->post(std::move(operation), false);
}

int ServedSession::protocol() const { return session_->protocol; }
bool ServedSession::is_authenticated() const { return session_->is_authenticated; }
bool ServedSession::is_closing() const { return session_->is_closing; }

}  // namespace rushgate
