#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/list_push.h"
#include "engine/recipes/queues/queue_checks.h"
#include <rushgate/queues.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<UnsafeListQueue>> UnsafeListQueue::create(
    Backend& backend, std::string name, UnsafeListQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", name),
        check_queue_number("size_max", options.size_max, 1, kQueueSizeMax)}) {
    if (!checked.ok()) return checked;
  }
  return std::unique_ptr<UnsafeListQueue>(
      new UnsafeListQueue(backend, std::move(name), std::move(options)));
}

UnsafeListQueue::UnsafeListQueue(Backend& backend, std::string name, UnsafeListQueueOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      client_(backend.open_client(options_.client)) {}

absl::Status UnsafeListQueue::push(std::string_view body) {
  return push_to_list(*client_, name_, options_.size_max, body);
}

absl::StatusOr<std::vector<QueueMessage>> UnsafeListQueue::take(std::size_t count_max,
                                                                std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  std::vector<QueueMessage> messages;
  const Reply popped = (*client_)("RPOP", name_, count_max);
  for (const Reply& body : popped.elements()) messages.push_back({.body = body.text()});
  if (!messages.empty()) return messages;
  if (!popped.is_nil()) return to_status(popped, "taking messages");
  if (wait_ms == 0) return messages;
  const Reply awaited = (*client_)("BRPOP", name_, list_timeout(wait_ms));
  if (awaited.elements().size() == 2) {
    messages.push_back({.body = awaited.elements()[1].text()});
  } else if (!awaited.is_nil()) {
    return to_status(awaited, "taking a message");
  }
  return messages;
}

absl::StatusOr<std::size_t> UnsafeListQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  return std::size_t{0};
}

}  // namespace rushgate
