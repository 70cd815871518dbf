#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <boost/lockfree/queue.hpp>

#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/recipes/queues/queue_checks.h"
#include <rushgate/queues.h>

namespace rushgate {

/// Thread-safe.
struct InProcessQueue::State {
  struct Node {
    std::uint64_t id;
    std::string body;
  };
  using Nodes = boost::lockfree::queue<Node*, boost::lockfree::fixed_sized<true>>;

  explicit State(std::size_t size_maximum) : size_max(size_maximum), nodes(size_maximum) {}
  ~State() {
    nodes.consume_all([](Node* node) { delete node; });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Moves waiting messages to `messages`, which has at most `count_max` then. The caller holds the
  /// mutex.
  void take_waiting(std::size_t count_max, std::vector<QueueMessage>& messages);

  const std::size_t size_max;
  Nodes nodes;
  std::atomic<std::uint64_t> last_id{0};
  std::atomic<std::uint64_t> pushed{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> sleepers{0};  // threads that wait, or are about to

  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  std::uint64_t interrupts = 0;
  std::uint64_t done = 0;
  absl::flat_hash_set<std::uint64_t> taken;  // the ones that are not done
};

absl::StatusOr<std::unique_ptr<InProcessQueue>> InProcessQueue::create(
    InProcessQueueOptions options) {
  if (options.size_max < 1 || options.size_max > kSizeMax) {
    return absl::InvalidArgumentError(
        concat("queue: size_max is ", options.size_max, ", and must be from 1 to ", kSizeMax));
  }
  return std::unique_ptr<InProcessQueue>(new InProcessQueue(options));
}

InProcessQueue::InProcessQueue(InProcessQueueOptions options)
    : state_(std::make_unique<State>(options.size_max)) {}

InProcessQueue::~InProcessQueue() = default;

absl::Status InProcessQueue::push(std::string_view body) {
  RETURN_IF_ERROR(check_push(body));
  State& state = *state_;
  auto node =
      std::make_unique<State::Node>(State::Node{.id = ++state.last_id, .body = std::string(body)});
  ++state.pushed;
  if (!state.nodes.push(node.get())) {
    --state.pushed;
    ++state.refused;
    return queue_is_full("in the process", static_cast<std::int64_t>(state.size_max));
  }
  static_cast<void>(node.release());
  // Either this sees the sleeper, or the sleeper sees the message: it looks again after it was
  // counted.
  if (state.sleepers.fetch_add(0) == 0) return absl::OkStatus();
  const std::lock_guard lock(state.mutex);
  state.changed.notify_one();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<QueueMessage>> InProcessQueue::take(std::size_t count_max,
                                                               std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  State& state = *state_;
  std::vector<QueueMessage> messages;
  std::unique_lock lock(state.mutex);
  if (state.taken.size() >= state.size_max) {
    return absl::ResourceExhaustedError(
        concat("queue in the process: ", state.size_max, " messages were taken and are not done"));
  }
  state.take_waiting(count_max, messages);
  if (!messages.empty() || wait_ms == 0) return messages;
  const std::uint64_t interrupts_before = state.interrupts;
  ++state.sleepers;
  state.changed.wait_until(lock, deadline, [&] {
    state.take_waiting(count_max, messages);
    return !messages.empty() || state.interrupts != interrupts_before;
  });
  --state.sleepers;
  return messages;
}

void InProcessQueue::State::take_waiting(std::size_t count_max,
                                         std::vector<QueueMessage>& messages) {
  Node* popped = nullptr;
  while (messages.size() < count_max && nodes.pop(popped)) {
    const std::unique_ptr<Node> node(popped);
    taken.insert(node->id);
    messages.push_back({.id = concat(node->id), .body = std::move(node->body), .deliveries = 1});
  }
}

absl::StatusOr<std::size_t> InProcessQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  std::size_t count = 0;
  const std::lock_guard lock(state_->mutex);
  for (const QueueMessage& message : messages) {
    const auto id = parse_uint64(message.id);
    if (id) count += state_->taken.erase(*id);
  }
  state_->done += count;
  return count;
}

void InProcessQueue::interrupt() {
  const std::lock_guard lock(state_->mutex);
  ++state_->interrupts;
  state_->changed.notify_all();
}

InProcessQueue::Counts InProcessQueue::counts() const {
  const std::lock_guard lock(state_->mutex);
  return {.pushed = state_->pushed.load(), .refused = state_->refused.load(), .done = state_->done};
}

}  // namespace rushgate
