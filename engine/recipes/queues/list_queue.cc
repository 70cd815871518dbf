#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/list_dead.lua.h"
#include "engine/recipes/queues/list_done.lua.h"
#include "engine/recipes/queues/list_push.h"
#include "engine/recipes/queues/list_put_back.lua.h"
#include "engine/recipes/queues/list_take.lua.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/queue_wait.h"
#include <rushgate/queues.h>
#include <rushgate/reply.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

constexpr std::int64_t kMessagesPerScript = 1'000;  // messages that one script puts back
constexpr std::int64_t kConsumersMax = 100;         // dead ones that one take() handles

const Script& list_take_script() {
  static const Script* const kScript = new Script(lua::kListTake);
  return *kScript;
}

const Script& list_done_script() {
  static const Script* const kScript = new Script(lua::kListDone);
  return *kScript;
}

const Script& put_back_script() {
  static const Script* const kScript = new Script(lua::kListPutBack);
  return *kScript;
}

const Script& dead_script() {
  static const Script* const kScript = new Script(lua::kListDead);
  return *kScript;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ListQueue>> ListQueue::create(Backend& backend, std::string name,
                                                             ListQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", name), check_queue_text("the consumer", options.consumer),
        check_queue_number("size_max", options.size_max, 1, kQueueSizeMax),
        check_queue_number("claim_idle_ms", options.claim_idle_ms, 1, kQueueIdleMsMax)}) {
    if (!checked.ok()) return checked;
  }
  return std::unique_ptr<ListQueue>(new ListQueue(backend, std::move(name), std::move(options)));
}

ListQueue::ListQueue(Backend& backend, std::string name, ListQueueOptions options)
    : clock_(backend.clock()),
      name_(std::move(name)),
      options_(std::move(options)),
      consumers_(concat(tagged_queue_name(name_), ":consumers")),
      processing_(processing_of(options_.consumer)),
      client_(backend.open_client(options_.client)) {}

std::string ListQueue::processing_of(std::string_view consumer) const {
  return concat(tagged_queue_name(name_), ":processing:", consumer);
}

absl::Status ListQueue::push(std::string_view body) {
  return push_to_list(*client_, name_, options_.size_max, body);
}

absl::StatusOr<std::vector<QueueMessage>> ListQueue::take(std::size_t count_max,
                                                          std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  if (!has_recovered_) {
    RETURN_IF_ERROR(put_back(options_.consumer, 0));
    has_recovered_ = true;
  }
  QueueWait wait(clock_, wait_ms, interrupts_);
  while (true) {
    if (clock_.monotonic_ms() >= claim_at_ms_) {
      RETURN_IF_ERROR(put_back_abandoned());
    }
    Messages messages;
    absl::Status moved = move(count_max, messages);
    if (!moved.ok()) return moved;
    if (!messages.empty()) return messages;
    // The consumer is seen in time, although it waits.
    const std::int64_t block_ms =
        wait.begin(std::min(options_.claim_idle_ms / 2, claim_at_ms_ - clock_.monotonic_ms()));
    if (block_ms == 0) return messages;
    moved = move_one(block_ms, messages);
    if (!moved.ok()) return moved;
    if (!messages.empty()) {
      // The consumer was seen now, and more messages may have come. This message is returned in any
      // case.
      move(count_max - 1, messages).IgnoreError();
      return messages;
    }
    if (!wait.may_go_on()) return messages;
  }
}

/// Puts back the consumer's messages if it made no call for `idle_ms`.
absl::Status ListQueue::put_back(const std::string& consumer, std::int64_t idle_ms) {
  const std::string processing = processing_of(consumer);
  const std::string_view keys[] = {name_, processing, consumers_};
  const DecimalText idle(idle_ms);
  const DecimalText portion(kMessagesPerScript);
  const std::string_view arguments[] = {consumer, idle, portion};
  while (true) {
    const Reply count = client_->run(put_back_script(), keys, arguments);
    if (!count.is_integer()) return to_status(count, "putting messages back");
    if (count.integer() < kMessagesPerScript) return absl::OkStatus();
  }
}

absl::Status ListQueue::put_back_abandoned() {
  const std::string_view keys[] = {consumers_};
  const DecimalText idle(options_.claim_idle_ms);
  const DecimalText count(kConsumersMax);
  const std::string_view arguments[] = {idle, count};
  const Reply dead = client_->run(dead_script(), keys, arguments);
  if (!dead.is_aggregate()) return to_status(dead, "looking for dead consumers");
  for (const Reply& consumer : dead.elements()) {
    if (consumer.text() == options_.consumer) continue;
    RETURN_IF_ERROR(put_back(consumer.text(), options_.claim_idle_ms));
  }
  claim_at_ms_ = clock_.monotonic_ms() + options_.claim_idle_ms;
  return absl::OkStatus();
}

/// Moves the messages that are there, without waiting.
absl::Status ListQueue::move(std::size_t count_max, Messages& messages) {
  const std::string_view keys[] = {name_, processing_, consumers_};
  const DecimalText count(static_cast<std::int64_t>(count_max));
  const DecimalText size_max(options_.size_max);
  const std::string_view arguments[] = {options_.consumer, count, size_max};
  const Reply moved = client_->run(list_take_script(), keys, arguments);
  if (moved == Reply::integer(lua::list_take::kFull)) {
    return absl::ResourceExhaustedError(concat("queue ", name_, ": consumer ", options_.consumer,
                                               " took ", options_.size_max,
                                               " messages that are not done"));
  }
  if (!moved.is_aggregate()) return failed(moved);
  for (const Reply& body : moved.elements()) messages.push_back({.body = body.text()});
  return absl::OkStatus();
}

absl::Status ListQueue::move_one(std::int64_t block_ms, Messages& messages) {
  const Reply moved =
      (*client_)("BLMOVE", name_, processing_, "RIGHT", "LEFT", list_timeout(block_ms));
  if (moved.is_nil()) return absl::OkStatus();
  if (moved.kind() != Reply::Kind::kBulk) return failed(moved);
  messages.push_back({.body = moved.text()});
  return absl::OkStatus();
}

/// Notes that the processing list may have messages that no caller got.
absl::Status ListQueue::failed(const Reply& reply) {
  if (has_code(reply, error_code::kOutcomeUnknown)) has_recovered_ = false;
  return to_status(reply, "taking messages");
}

absl::StatusOr<std::size_t> ListQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  if (messages.empty()) return std::size_t{0};
  const std::string_view keys[] = {processing_, consumers_};
  std::vector<std::string_view> arguments = {options_.consumer};
  for (const QueueMessage& message : messages) arguments.push_back(message.body);
  const Reply removed = client_->run(list_done_script(), keys, arguments);
  if (!removed.is_integer()) return to_status(removed, "removing messages");
  return static_cast<std::size_t>(removed.integer());
}

void ListQueue::interrupt() {
  ++interrupts_;
  client_->unblock();
}

}  // namespace rushgate
