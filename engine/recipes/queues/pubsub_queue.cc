#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include <rushgate/queues.h>

namespace rushgate {

/// Thread-safe.
struct PubSubQueue::Inbox {
  explicit Inbox(std::size_t size_maximum) : size_max(size_maximum) {}

  /// Reads ["message", channel, body], or a notice of the backend.
  void receive(const Reply& message) {
    if (message.elements().size() != 3) return;
    const std::string& kind = message.elements()[0].text();
    const std::lock_guard lock(mutex);
    if (kind == "disconnected") ++losses.gaps;
    if (kind != "message") return;
    if (bodies.size() >= size_max || message.elements()[2].text().size() > kBodyBytesMax) {
      ++losses.dropped;
      return;
    }
    bodies.push_back(message.elements()[2].text());
    changed.notify_one();
  }

  const std::size_t size_max;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex:
  std::deque<std::string> bodies;
  Losses losses;
  std::uint64_t interrupts = 0;
};

absl::StatusOr<std::unique_ptr<PubSubQueue>> PubSubQueue::create(Backend& backend,
                                                                 std::string channel,
                                                                 PubSubQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", channel),
        check_queue_number("size_max", static_cast<std::int64_t>(options.size_max), 1,
                           static_cast<std::int64_t>(kSizeMax))}) {
    if (!checked.ok()) return checked;
  }
  std::unique_ptr<PubSubQueue> queue(
      new PubSubQueue(backend, std::move(channel), std::move(options)));
  if (!queue->subscribes_) return queue;
  const Reply subscribed = (*queue->subscriber_)("SUBSCRIBE", queue->channel_);
  if (subscribed.is_error()) return to_status(subscribed, "subscribing");
  return queue;
}

PubSubQueue::PubSubQueue(Backend& backend, std::string channel, PubSubQueueOptions options)
    : channel_(std::move(channel)),
      subscribes_(options.subscribes),
      inbox_(std::make_shared<Inbox>(options.size_max)),
      client_(backend.open_client(options.client)),
      subscriber_(subscribes_ ? [&] {
        options.client.on_message = [inbox = inbox_](const Reply& message) {
          inbox->receive(message);
        };
        return backend.open_client(options.client);
      }() : nullptr) {}

PubSubQueue::~PubSubQueue() = default;

absl::Status PubSubQueue::push(std::string_view body) {
  RETURN_IF_ERROR(check_push(body));
  const Reply published = (*client_)("PUBLISH", channel_, body);
  if (!published.is_integer()) return to_status(published, "publishing a message");
  if (published.integer() == 0) {
    const std::lock_guard lock(inbox_->mutex);
    ++inbox_->losses.unheard;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<QueueMessage>> PubSubQueue::take(std::size_t count_max,
                                                            std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  if (!subscribes_) return absl::FailedPreconditionError("queue: it does not subscribe");
  std::vector<QueueMessage> messages;
  std::unique_lock lock(inbox_->mutex);
  const std::uint64_t interrupts_before = inbox_->interrupts;
  const auto may_end = [&] {
    return !inbox_->bodies.empty() || inbox_->interrupts != interrupts_before;
  };
  if (wait_ms > 0) inbox_->changed.wait_for(lock, std::chrono::milliseconds(wait_ms), may_end);
  while (!inbox_->bodies.empty() && messages.size() < count_max) {
    messages.push_back({.body = std::move(inbox_->bodies.front()), .deliveries = 1});
    inbox_->bodies.pop_front();
  }
  return messages;
}

absl::StatusOr<std::size_t> PubSubQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  return std::size_t{0};
}

void PubSubQueue::interrupt() {
  const std::lock_guard lock(inbox_->mutex);
  ++inbox_->interrupts;
  inbox_->changed.notify_all();
}

PubSubQueue::Losses PubSubQueue::losses() const {
  const std::lock_guard lock(inbox_->mutex);
  return inbox_->losses;
}

}  // namespace rushgate
