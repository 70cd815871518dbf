#include "engine/redis/executor/served_session.h"

#include <atomic>
#include <cassert>
#include <mutex>
#include <utility>

#include "engine/redis/commands/settings.h"
#include "engine/redis/executor/executor.h"
#include "engine/redis/executor/untaken_output.h"

namespace rushgate {
namespace {

void take_replies(Operation& operation, ServedSession::Batch& batch) {
  batch.replies = std::move(operation.replies);
  batch.is_replied = true;
}

}  // namespace

class ServedSession::Inbox final : public Outlet {
 public:
  Inbox(std::size_t bytes_max, std::shared_ptr<UntakenOutput> untaken,
        std::function<void()> on_message, std::function<void(bool)> on_shutdown)
      : bytes_max_(bytes_max),
        untaken_(untaken != nullptr ? std::move(untaken) : std::make_shared<UntakenOutput>(0)),
        on_message_(std::move(on_message)),
        on_shutdown_(std::move(on_shutdown)) {}

  ~Inbox() override { untaken_->remove(reserved_bytes_ + reply_bytes_); }
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  [[nodiscard]] bool reserve(std::size_t bytes, bool is_protected) override {
    if (bytes_max_ != 0 && reserved_bytes_ + bytes + unsent_bytes_ > bytes_max_) {
      return overflow(Overflow::kOfSession);
    }
    if (!is_protected && !untaken_->has_capacity_for(bytes)) return overflow(Overflow::kOfServer);
    reserved_bytes_ += bytes;
    untaken_->add(bytes);
    return true;
  }
  void release(std::size_t bytes) override {
    reserved_bytes_ -= bytes;
    untaken_->remove(bytes);
  }
  [[nodiscard]] bool takes_reply() override {
    return untaken_->has_capacity_for(1) || overflow(Overflow::kOfServer);
  }
  void note_reply(const Reply& reply) override {
    const std::size_t bytes = memory_bytes(reply);
    reply_bytes_ += bytes;
    untaken_->add(bytes);
  }
  [[nodiscard]] bool orders_messages() const override { return true; }
  void push(Reply message, std::uint64_t after_replies) override {
    const std::size_t bytes = memory_bytes(message);
    bool is_first = false;  // the batches after it belong to it
    try {
      const std::lock_guard lock(mutex_);
      is_first = messages_.empty();
      messages_.push_back({std::move(message), after_replies, bytes});
    } catch (...) {
      release(bytes);
      throw;
    }
    if (is_first || wake_failed_.exchange(false)) wake();
  }
  void resume() override {
    is_resumed_ = true;
    wake();
  }
  [[nodiscard]] bool take_resumed() { return is_resumed_.exchange(false); }
  void hang_up() override {
    is_hung_up_ = true;
    if (on_message_) on_message_();
  }
  [[nodiscard]] bool is_of_server() const override { return on_shutdown_ != nullptr; }
  void shut_down(bool saves) override { on_shutdown_(saves); }

  std::vector<Message> take() {
    const std::lock_guard lock(mutex_);
    for (const Message& message : messages_) release(message.bytes);
    return std::exchange(messages_, {});
  }
  void reply_is_taken() { untaken_->remove(reply_bytes_.exchange(0)); }
  void set_unsent_bytes(std::size_t bytes) { unsent_bytes_ = bytes; }
  [[nodiscard]] Overflow overflow() const { return overflow_; }
  [[nodiscard]] bool is_hung_up() const { return is_hung_up_; }

 private:
  void wake() {
    try {
      if (on_message_) on_message_();
    } catch (...) {  // out of memory: the next message wakes the client
      wake_failed_ = true;
    }
  }
  /// Notes the overflow and returns false.
  bool overflow(Overflow bound) {
    if (overflow_.exchange(bound) == Overflow::kNone) wake();
    return false;
  }

  const std::size_t bytes_max_;
  const std::shared_ptr<UntakenOutput> untaken_;
  const std::function<void()> on_message_;
  const std::function<void(bool)> on_shutdown_;
  std::atomic<bool> is_hung_up_{false};
  std::atomic<bool> is_resumed_{false};  // CLIENT PAUSE has ended
  std::atomic<bool> wake_failed_{false};
  std::atomic<Overflow> overflow_{Overflow::kNone};
  std::atomic<std::size_t> reserved_bytes_{0};  // of messages to come, and of messages_
  std::atomic<std::size_t> reply_bytes_{0};     // until reply_is_taken()
  std::atomic<std::size_t> unsent_bytes_{0};
  std::mutex mutex_;
  std::vector<Message> messages_;  // guarded by mutex_
};

ServedSession::ServedSession(Engine& engine, ServedSessionOptions options)
    : executor_(engine.executor_),
      inbox_(std::make_shared<Inbox>(options.message_bytes_max, std::move(options.untaken),
                                     std::move(options.on_message),
                                     std::move(options.on_shutdown))),
      session_(std::make_shared<Session>()) {
  session_->outlet = inbox_;
  session_->address = std::move(options.address);
  session_->local_address = std::move(options.local_address);
  session_->reply_bytes_max = options.reply_bytes_max;
  session_->is_authenticated = options.password.empty();
  session_->password = std::move(options.password);
  session_end_ = Executor::make_session_end(session_);
  executor_->begin_session(session_);
}

ServedSession::~ServedSession() { executor_->end_session(std::move(session_end_)); }

void ServedSession::run(std::span<Batch> batches, std::size_t reply_bytes_max,
                        absl::FunctionRef<void()> while_busy) {
  if (batches.empty()) return;
  std::vector<Operation> awaited(batches.size());
  std::vector<ReplyBudget> budgets(batches.size());
  absl::InlinedVector<Operation*, 16> operations(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    Batch& batch = batches[i];
    assert(!batch.requests.empty() &&
           batch.session->executor_ == batches.front().session->executor_);
    if (batch.completion) {
      operations[i] = operation_of(batch).release();
      continue;
    }
    operations[i] = &awaited[i];
    awaited[i].session = batch.session->session_.get();
    awaited[i].requests = batch.requests;
    budgets[i] = {.bytes_left = batch.reply_bytes_max, .bytes_left_for_all = &reply_bytes_max};
    awaited[i].reply_budget = &budgets[i];
    awaited[i].returns_when_paused = true;
  }
  const auto take_replied = [&] {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const bool is_new = !batches[i].is_replied && awaited[i].state.is_replied();
      if (is_new) take_replies(awaited[i], batches[i]);
    }
  };
  batches.front().session->executor_->run_all_and_wait(operations, [&] {
    take_replied();
    while_busy();
  });
  take_replied();
}

void ServedSession::reply_while_busy(Batch& batch) {
  Operation operation;
  operation.session = batch.session->session_.get();
  operation.requests = batch.requests;
  batch.session->executor_->reply_while_busy(operation);
  take_replies(operation, batch);
}

/// Returns an operation that may outlive the batch.
std::unique_ptr<Operation> ServedSession::operation_of(Batch& batch) {
  assert(batch.requests.size() == 1);
  auto operation = std::make_unique<Operation>();
  operation->owned_session = batch.session->session_;
  operation->session = batch.session->session_.get();
  operation->owned_requests.push_back(batch.requests.front());
  operation->requests = operation->owned_requests;
  operation->completion = [completion = std::move(batch.completion)](Operation::Replies replies,
                                                                     int /*protocol*/) mutable {
    completion(replies.empty() ? std::nullopt : std::optional(std::move(replies.front())));
  };
  operation->returns_when_paused = true;
  return operation;
}

void ServedSession::submit(Batch batch) {
  Executor& executor = *batch.session->executor_;
  executor.post(operation_of(batch), executor.inside_turn());  // as Executor::end_session()
}

ServedSession::EndsScripts::EndsScripts(Engine& engine, EndOfScripts scripts)
    : executor_(scripts == EndOfScripts::kKill ? engine.executor_ : nullptr) {
  if (executor_ != nullptr) executor_->lua().begin_killing();
}
ServedSession::EndsScripts::~EndsScripts() {
  if (executor_ != nullptr) executor_->lua().end_killing();
}

std::size_t ServedSession::keyspace_bytes(const Engine& engine) {
  return engine.executor_->keyspace_bytes();
}

void ServedSession::set_server(Engine& engine, const ServerSettings& server) {
  engine.executor_->set_server(server);
}

ServerSettings ServedSession::server(const Engine& engine) { return engine.executor_->server(); }

void ServedSession::install(Engine& engine, std::shared_ptr<const ProgramCommandTable> commands) {
  engine.executor_->program_commands().install(std::move(commands));
}
void ServedSession::remove_program_commands(Engine& engine) {
  engine.executor_->program_commands().remove();
}

void ServedSession::note_input(std::size_t bytes) { executor_->traffic().note_input(bytes); }
void ServedSession::note_output(std::size_t bytes) { executor_->traffic().note_output(bytes); }

void ServedSession::note_refusal(Engine& engine) { engine.executor_->note_refused_session(); }

std::vector<ServedSession::Message> ServedSession::take_messages() { return inbox_->take(); }
void ServedSession::set_unsent_bytes(std::size_t bytes) { inbox_->set_unsent_bytes(bytes); }
void ServedSession::reply_is_taken() { inbox_->reply_is_taken(); }
ServedSession::Overflow ServedSession::overflow() const { return inbox_->overflow(); }
bool ServedSession::is_hung_up() const { return inbox_->is_hung_up(); }

int ServedSession::protocol() const { return session_->protocol; }
int ServedSession::database() const { return session_->db; }
bool ServedSession::is_authenticated() const { return session_->is_authenticated; }
bool ServedSession::is_in_transaction() const { return session_->transaction.has_value(); }
ConnectionBuffers& ServedSession::buffers() { return session_->buffers; }
std::size_t ServedSession::argument_bytes_max() const { return executor_->argument_bytes_max(); }
std::size_t ServedSession::held_bytes() const { return session_->held_bytes.total(); }
bool ServedSession::is_protected() const { return session_->is_protected; }
bool ServedSession::is_subscribed() const { return session_->is_subscribed; }
bool ServedSession::is_paused() const { return session_->is_paused; }
void ServedSession::end_pause() {
  if (inbox_->take_resumed()) session_->is_paused = false;
}
bool ServedSession::is_closing() const { return session_->is_closing; }
bool ServedSession::takes_program_commands() const {
  const bool takes_only_subscriptions = session_->protocol == 2 && session_->is_subscribed;
  return session_->is_authenticated && !session_->transaction && !session_->is_monitor &&
         !takes_only_subscriptions;
}
bool ServedSession::drops_reply() { return suppresses_reply(*session_); }

}  // namespace rushgate
