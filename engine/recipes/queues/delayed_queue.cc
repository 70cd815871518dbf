#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/delayed_cancel.lua.h"
#include "engine/recipes/queues/delayed_done.lua.h"
#include "engine/recipes/queues/delayed_postpone.lua.h"
#include "engine/recipes/queues/delayed_push.lua.h"
#include "engine/recipes/queues/delayed_take.lua.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/queue_wait.h"
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

// In all scripts: KEYS  1 due  2 bodies  3 deliveries  4 wake.

const Script& delayed_push_script() {
  static const Script* const kScript = new Script(lua::kDelayedPush);
  return *kScript;
}

const Script& delayed_take_script() {
  static const Script* const kScript = new Script(lua::kDelayedTake);
  return *kScript;
}

const Script& delayed_done_script() {
  static const Script* const kScript = new Script(lua::kDelayedDone);
  return *kScript;
}

const Script& cancel_script() {
  static const Script* const kScript = new Script(lua::kDelayedCancel);
  return *kScript;
}

const Script& postpone_script() {
  static const Script* const kScript = new Script(lua::kDelayedPostpone);
  return *kScript;
}

absl::Status check_id(std::string_view id) {
  return check_queue_number("the length of an id", static_cast<std::int64_t>(id.size()), 1,
                            static_cast<std::int64_t>(DelayedQueue::kIdBytesMax));
}

std::vector<std::string_view> views_of(const DelayedQueueKeys& keys) {
  return {keys.due, keys.bodies, keys.deliveries, keys.wake};
}

}  // namespace

DelayedQueueKeys DelayedQueueKeys::of(std::string_view prefix, std::string_view name) {
  const std::string begin = concat(prefix, tagged_queue_name(name));
  return {.due = concat(begin, ":due"),
          .bodies = concat(begin, ":bodies"),
          .deliveries = concat(begin, ":deliveries"),
          .wake = concat(begin, ":wake")};
}

absl::StatusOr<std::unique_ptr<DelayedQueue>> DelayedQueue::create(Backend& backend,
                                                                   std::string name,
                                                                   DelayedQueueOptions options) {
  for (const absl::Status& checked :
       {check_queue_number("client.protocol", options.client.protocol, 2, 2),
        check_queue_text("the name", name),
        check_queue_number("size_max", options.size_max, 1, kQueueSizeMax),
        check_queue_number("visibility_ms", options.visibility_ms, 1, kQueueIdleMsMax)}) {
    if (!checked.ok()) return checked;
  }
  return std::unique_ptr<DelayedQueue>(new DelayedQueue(backend, name, std::move(options)));
}

DelayedQueue::DelayedQueue(Backend& backend, std::string_view name, DelayedQueueOptions options)
    : clock_(backend.clock()),
      name_(name),
      options_(std::move(options)),
      keys_(DelayedQueueKeys::of(options_.key_prefix, name)),
      client_(backend.open_client(options_.client)) {}

absl::Status DelayedQueue::push_at(std::string_view id, std::string_view body,
                                   std::int64_t due_ms) {
  const absl::Status checked = check_queue_number("due_ms", due_ms, 0, kTimeMsMax);
  return checked.ok() ? push_as(id, body, due_ms, "at") : checked;
}

absl::Status DelayedQueue::push_in(std::string_view id, std::string_view body,
                                   std::int64_t delay_ms) {
  const absl::Status checked = check_queue_number("delay_ms", delay_ms, 0, kDelayMsMax);
  return checked.ok() ? push_as(id, body, delay_ms, "in") : checked;
}

absl::Status DelayedQueue::push(std::string_view body) { return push_in(random_name(), body, 0); }

absl::Status DelayedQueue::push_as(std::string_view id, std::string_view body, std::int64_t time_ms,
                                   std::string_view how) {
  RETURN_IF_ERROR(check_id(id));
  RETURN_IF_ERROR(check_push(body));
  const DecimalText ms(time_ms);
  const DecimalText size_max(options_.size_max);
  const std::string_view arguments[] = {id, body, ms, how, size_max};
  const Reply pushed = client_->run(delayed_push_script(), views_of(keys_), arguments);
  if (!pushed.is_integer()) return to_status(pushed, "pushing a message");
  if (pushed.integer() == lua::delayed_push::kFull) return queue_is_full(name_, options_.size_max);
  if (pushed.integer() == lua::delayed_push::kKnown) {
    return absl::AlreadyExistsError(concat("queue ", name_, ": message ", id, " is there already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DelayedQueue::cancel(std::string_view id) {
  RETURN_IF_ERROR(check_id(id));
  const std::string_view arguments[] = {id};
  const Reply removed = client_->run(cancel_script(), views_of(keys_), arguments);
  if (!removed.is_integer()) return to_status(removed, "cancelling a message");
  return removed.integer() == 1;
}

absl::StatusOr<std::vector<QueueMessage>> DelayedQueue::take(std::size_t count_max,
                                                             std::int64_t wait_ms) {
  RETURN_IF_ERROR(check_take(count_max, wait_ms));
  QueueWait wait(clock_, wait_ms, interrupts_);
  bool is_last = false;
  while (true) {
    ASSIGN_OR_RETURN(auto taken, take_due(count_max));
    if (!taken.messages.empty() || is_last) return std::move(taken.messages);
    const std::int64_t look_again_ms =
        taken.next_ms < 0 ? kLookAgainMs : std::min(taken.next_ms, kLookAgainMs);
    const std::int64_t block_ms = wait.begin(look_again_ms);
    if (block_ms == 0) return std::move(taken.messages);
    // Each entry wakes all waiting consumers: the one that takes the message may be busy when the
    // next one is due.
    const Reply woken =
        (*client_)("XREAD", "BLOCK", block_ms, "STREAMS", keys_.wake, taken.wake_id);
    if (woken.is_error()) return to_status(woken, "waiting for messages");
    is_last = woken.is_nil() && !wait.may_go_on();
  }
}

absl::StatusOr<DelayedQueue::Taken> DelayedQueue::take_due(std::size_t count_max) {
  const DecimalText count(static_cast<std::int64_t>(count_max));
  const DecimalText visibility_ms(options_.visibility_ms);
  const std::string_view arguments[] = {count, visibility_ms};
  const Reply reply = client_->run(delayed_take_script(), views_of(keys_), arguments);
  const std::vector<Reply>& parts = reply.elements();
  if (parts.size() != 4) return to_status(reply, "taking messages");
  Taken taken{.messages = {}, .next_ms = parts[1].integer(), .wake_id = parts[2].text()};
  taken.messages.reserve(parts[3].elements().size());
  for (const Reply& message : parts[3].elements()) {
    if (message.elements().size() != 3) return to_status(reply, "taking messages");
    taken.messages.push_back({.id = message.elements()[0].text(),
                              .body = message.elements()[1].text(),
                              .deliveries = message.elements()[2].integer(),
                              .visible_at_ms = parts[0].integer()});
  }
  return taken;
}

absl::StatusOr<std::size_t> DelayedQueue::done(std::span<const QueueMessage> messages) {
  RETURN_IF_ERROR(check_done(messages.size()));
  std::vector<std::string> times;
  times.reserve(messages.size());
  std::vector<std::string_view> arguments;
  arguments.reserve(2 * messages.size());
  for (const QueueMessage& message : messages) {
    times.push_back(concat(message.visible_at_ms));
    arguments.push_back(message.id);
    arguments.push_back(times.back());
  }
  const Reply removed = client_->run(delayed_done_script(), views_of(keys_), arguments);
  if (!removed.is_integer()) return to_status(removed, "removing messages");
  return static_cast<std::size_t>(removed.integer());
}

absl::StatusOr<bool> DelayedQueue::postpone(QueueMessage& message, std::int64_t delay_ms) {
  RETURN_IF_ERROR(check_queue_number("delay_ms", delay_ms, 0, kDelayMsMax));
  const DecimalText visible_at_ms(message.visible_at_ms);
  const DecimalText delay(delay_ms);
  const std::string_view arguments[] = {message.id, visible_at_ms, delay};
  const Reply due_ms = client_->run(postpone_script(), views_of(keys_), arguments);
  if (!due_ms.is_integer()) return to_status(due_ms, "postponing a message");
  if (due_ms.integer() == lua::delayed_postpone::kGone) return false;
  message.visible_at_ms = due_ms.integer();
  return true;
}

absl::StatusOr<std::int64_t> DelayedQueue::size() {
  const Reply size = (*client_)("ZCARD", keys_.due);
  if (!size.is_integer()) return to_status(size, "counting messages");
  return size.integer();
}

void DelayedQueue::interrupt() {
  ++interrupts_;
  client_->unblock();
}

}  // namespace rushgate
