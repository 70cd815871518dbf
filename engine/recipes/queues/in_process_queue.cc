#include "engine/recipes/queues/in_process_queue.h"

#include <chrono>
#include <utility>

#include "engine/base/concat.h"
#include "engine/base/numbers.h"
#include "engine/recipes/queues/queue_checks.h"

namespace rushgate {

absl::StatusOr<std::unique_ptr<InProcessQueue>> InProcessQueue::create(
    InProcessQueueOptions options) {
  if (options.size_max < 1 || options.size_max > kSizeMax) {
    return absl::InvalidArgumentError(
        concat("queue: size_max is ", options.size_max, ", and must be from 1 to ", kSizeMax));
  }
  return std::unique_ptr<InProcessQueue>(new InProcessQueue(options));
}

InProcessQueue::InProcessQueue(InProcessQueueOptions options)
    : options_(options), nodes_(options.size_max) {}

InProcessQueue::~InProcessQueue() {
  nodes_.consume_all([](Node* node) { delete node; });
}

absl::Status InProcessQueue::push(std::string_view body) {
  if (const absl::Status checked = check_push(body); !checked.ok()) return checked;
  auto node = std::make_unique<Node>(Node{.id = ++last_id_, .body = std::string(body)});
  ++pushed_;
  if (!nodes_.push(node.get())) {
    --pushed_;
    ++refused_;
    return queue_is_full("in the process", static_cast<std::int64_t>(options_.size_max));
  }
  static_cast<void>(node.release());
  // Either this sees the sleeper, or the sleeper sees the message: it looks again after it was
  // counted.
  if (sleepers_.fetch_add(0) == 0) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  changed_.notify_one();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<QueueMessage>> InProcessQueue::take(std::size_t count_max,
                                                               std::int64_t wait_ms) {
  if (const absl::Status checked = check_take(count_max, wait_ms); !checked.ok()) return checked;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  std::vector<QueueMessage> messages;
  std::unique_lock lock(mutex_);
  if (taken_.size() >= options_.size_max) {
    return absl::ResourceExhaustedError(concat("queue in the process: ", options_.size_max,
                                               " messages were taken and are not done"));
  }
  take_waiting(count_max, messages);
  if (!messages.empty() || wait_ms == 0) return messages;
  const std::uint64_t interrupts_before = interrupts_;
  ++sleepers_;
  changed_.wait_until(lock, deadline, [&] {
    take_waiting(count_max, messages);
    return !messages.empty() || interrupts_ != interrupts_before;
  });
  --sleepers_;
  return messages;
}

void InProcessQueue::take_waiting(std::size_t count_max, std::vector<QueueMessage>& messages) {
  Node* popped = nullptr;
  while (messages.size() < count_max && nodes_.pop(popped)) {
    const std::unique_ptr<Node> node(popped);
    taken_.insert(node->id);
    messages.push_back({.id = concat(node->id), .body = std::move(node->body), .deliveries = 1});
  }
}

absl::StatusOr<std::size_t> InProcessQueue::done(std::span<const QueueMessage> messages) {
  if (const absl::Status checked = check_done(messages.size()); !checked.ok()) return checked;
  std::size_t count = 0;
  const std::lock_guard lock(mutex_);
  for (const QueueMessage& message : messages) {
    const auto id = parse_uint64(message.id);
    if (id) count += taken_.erase(*id);
  }
  done_ += count;
  return count;
}

void InProcessQueue::interrupt() {
  const std::lock_guard lock(mutex_);
  ++interrupts_;
  changed_.notify_all();
}

InProcessQueue::Counts InProcessQueue::counts() const {
  const std::lock_guard lock(mutex_);
  return {.pushed = pushed_.load(), .refused = refused_.load(), .done = done_};
}

}  // namespace rushgate
