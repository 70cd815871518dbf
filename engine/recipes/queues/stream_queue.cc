#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/queue_wait.h"
#include "engine/recipes/queues/stream_push.h"
#include "engine/recipes/queues/stream_redeliver.lua.h"
#include "engine/recipes/queues/stream_trim.h"
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr std::string_view kStart = "0-0";

const Script& redeliver_script() {
  static const Script* const kScript = new Script(lua::kStreamRedeliver);
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StreamQueue>> StreamQueue::create(Backend& backend, std::string name,
                                                                 StreamQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", name), check_queue_text("the group", options.group),
        check_queue_text("the consumer", options.consumer),
        check_queue_text("the field", options.field),
        check_queue_number("size_max", options.size_max, 1, kQueueSizeMax),
        check_queue_number("claim_idle_ms", options.claim_idle_ms, 1, kQueueIdleMsMax)}) {
    if (!checked.ok()) return checked;
  }
  return std::unique_ptr<StreamQueue>(
      new StreamQueue(backend, std::move(name), std::move(options)));
}

StreamQueue::StreamQueue(Backend& backend, std::string name, StreamQueueOptions options)
    : clock_(backend.clock()),
      name_(std::move(name)),
      options_(std::move(options)),
      client_(backend.open_client(options_.client)),
      history_after_(kStart),
      claim_from_(kStart) {}

absl::Status StreamQueue::push(std::string_view body) {
  // The last message done stays in the stream: see trim_done_entries().
  return push_to_stream(*client_, name_, options_.field, options_.size_max + 1, options_.size_max,
                        body);
}

absl::StatusOr<std::vector<QueueMessage>> StreamQueue::take(std::size_t count_max,
                                                            std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  QueueWait wait(clock_, wait_ms, interrupts_);
  bool is_second_try = false;
  while (true) {
    RETURN_IF_ERROR(ensure_group());
    auto messages = next(count_max, wait);
    const bool group_is_gone = !group_exists_;
    if (group_is_gone && !std::exchange(is_second_try, true)) continue;
    if (!messages.ok() || !messages->empty() || !wait.may_go_on()) return messages;
  }
}

/// Creates the group at the start of the stream: messages may have been pushed before.
absl::Status StreamQueue::ensure_group() {
  if (group_exists_) return absl::OkStatus();
  const Reply made = (*client_)("XGROUP", "CREATE", name_, options_.group, "0", "MKSTREAM");
  if (made.is_error() && !has_code(made, "BUSYGROUP")) {
    return to_status(made, "creating a consumer group");
  }
  group_exists_ = true;
  return absl::OkStatus();
}

/// Returns its own pending messages after opening, then messages of other consumers, then new ones.
absl::StatusOr<StreamQueue::Messages> StreamQueue::next(std::size_t count_max, QueueWait& wait) {
  while (history_after_) {
    auto messages = redeliver("history", *history_after_, count_max);
    if (!messages.ok()) return messages;
    if (*history_after_ == kStart) history_after_.reset();
    if (!messages->empty()) return messages;
  }
  while (clock_.monotonic_ms() >= claim_at_ms_) {
    auto messages = redeliver("claim", claim_from_, count_max);
    if (!messages.ok()) return messages;
    if (claim_from_ == kStart) claim_at_ms_ = clock_.monotonic_ms() + options_.claim_idle_ms;
    if (!messages->empty()) return messages;
  }
  return read_new(count_max, wait.begin(claim_at_ms_ - clock_.monotonic_ms()));
}

absl::StatusOr<StreamQueue::Messages> StreamQueue::redeliver(std::string_view what,
                                                             std::string& from,
                                                             std::size_t count_max) {
  const std::string_view keys[] = {name_};
  const DecimalText count(static_cast<std::int64_t>(count_max));
  const DecimalText idle_ms(options_.claim_idle_ms);
  const std::string_view arguments[] = {
      options_.group, options_.consumer, options_.field, count, what, from, idle_ms};
  const Reply reply = client_->run(redeliver_script(), keys, arguments);
  if (reply.elements().size() != 2) return failed(reply);
  from = reply.elements()[0].text();
  Messages messages;
  messages.reserve(reply.elements()[1].elements().size());
  for (const Reply& message : reply.elements()[1].elements()) {
    const std::vector<Reply>& parts = message.elements();
    if (parts.size() != 3) return failed(reply);
    messages.push_back(
        {.id = parts[0].text(), .body = parts[1].text(), .deliveries = parts[2].integer()});
  }
  return messages;
}

absl::StatusOr<StreamQueue::Messages> StreamQueue::read_new(std::size_t count_max,
                                                            std::int64_t block_ms) {
  Request request =
      Request::of("XREADGROUP", "GROUP", options_.group, options_.consumer, "COUNT", count_max);
  if (block_ms > 0) {
    request.add("BLOCK");
    request.add(block_ms);
  }
  request.add("STREAMS");
  request.add(name_);
  request.add(">");
  const Reply reply = client_->call(std::move(request));
  auto messages = read_stream_messages(reply, options_.field);
  if (!messages) return failed(reply);
  return *std::move(messages);
}

/// Notes that the group is gone: take() creates it again.
absl::Status StreamQueue::failed(const Reply& reply) {
  if (has_code(reply, "NOGROUP") || has_code(reply, "UNBLOCKED")) group_exists_ = false;
  return to_status(reply, "taking messages");
}

absl::StatusOr<std::size_t> StreamQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  if (messages.empty()) return std::size_t{0};
  Request request = Request::of("XACK", name_, options_.group);
  for (const QueueMessage& message : messages) request.add(message.id);
  const Reply acknowledged = client_->call(std::move(request));
  if (!acknowledged.is_integer()) return to_status(acknowledged, "acknowledging messages");
  // Even if it fails, the messages are done. The next call removes them.
  trim_done_entries(*client_, name_).IgnoreError();
  return static_cast<std::size_t>(acknowledged.integer());
}

void StreamQueue::interrupt() {
  ++interrupts_;
  client_->unblock();
}

}  // namespace rushgate
