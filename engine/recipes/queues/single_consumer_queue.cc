#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/single_consumer_done.lua.h"
#include "engine/recipes/queues/stream_push.h"
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

const Script& stream_done_script() {
  static const Script* const kScript = new Script(lua::kSingleConsumerDone);
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SingleConsumerQueue>> SingleConsumerQueue::create(
    Backend& backend, std::string name, SingleConsumerQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", name), check_queue_text("the field", options.field),
        check_queue_number("size_max", options.size_max, 1, kQueueSizeMax)}) {
    if (!checked.ok()) return checked;
  }
  return std::unique_ptr<SingleConsumerQueue>(
      new SingleConsumerQueue(backend, std::move(name), std::move(options)));
}

SingleConsumerQueue::SingleConsumerQueue(Backend& backend, std::string name,
                                         SingleConsumerQueueOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      position_key_(concat(tagged_queue_name(name_), ":position")),
      client_(backend.open_client(options_.client)) {}

absl::Status SingleConsumerQueue::push(std::string_view body) {
  return push_to_stream(*client_, name_, options_.field, options_.size_max, options_.size_max,
                        body);
}

absl::StatusOr<std::vector<QueueMessage>> SingleConsumerQueue::take(std::size_t count_max,
                                                                    std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  RETURN_IF_ERROR(find_position());
  Request request = Request::of("XREAD", "COUNT", count_max);
  if (wait_ms > 0) {
    request.add("BLOCK");
    request.add(wait_ms);
  }
  request.add("STREAMS");
  request.add(name_);
  request.add(*read_to_);
  const Reply reply = client_->call(std::move(request));
  auto messages = read_stream_messages(reply, options_.field);
  if (!messages) return to_status(reply, "taking messages");
  if (!messages->empty()) read_to_ = messages->back().id;
  return *std::move(messages);
}

absl::Status SingleConsumerQueue::find_position() {
  if (read_to_) return absl::OkStatus();
  const Reply position = (*client_)("GET", position_key_);
  if (!position.is_nil() && position.kind() != Reply::Kind::kBulk) {
    return to_status(position, "reading the position");
  }
  read_to_ = position.is_nil() ? "0-0" : position.text();
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> SingleConsumerQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  if (messages.empty()) return std::size_t{0};
  const std::string_view keys[] = {name_, position_key_};
  std::vector<std::string_view> arguments;
  for (const QueueMessage& message : messages) arguments.push_back(message.id);
  const Reply count = client_->run(stream_done_script(), keys, arguments);
  if (!count.is_integer()) return to_status(count, "keeping the position");
  return static_cast<std::size_t>(count.integer());
}

}  // namespace rushgate
