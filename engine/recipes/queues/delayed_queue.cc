#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/queue_checks.h"
#include "engine/recipes/queues/queue_wait.h"
#include <rushgate/queues.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

// In all scripts: KEYS  1 due  2 bodies  3 deliveries  4 wake.

// ARGV  1 id  2 body  3 ms  4 'at': since 1970, 'in': from now  5 size_max
// Returns 1, 0 if the queue is full, -1 if the id exists.
const Script& delayed_push_script() {
  static const Script* const kScript = new Script(R"lua(
local due = tonumber(ARGV[3])
if ARGV[4] == 'in' then
  local time = redis.call('TIME')
  due = due + time[1] * 1000 + math.floor(time[2] / 1000)
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return -1 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) then return 0 end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
if not first[1] or due < tonumber(first[2]) then
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'due', string.format('%.0f', due))
end
return 1
)lua");
  return *kScript;
}

// ARGV  1 how many  2 visibility (ms)
// Returns when the messages are due again; the time until the next one is due (ms), or -1; the last
// entry of the wake stream; and for each message: id, body, number of deliveries.
const Script& delayed_take_script() {
  static const Script* const kScript = new Script(R"lua(
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local visible_at = now + ARGV[2]
local messages = {}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now),
                       'LIMIT', 0, ARGV[1])
for i, id in ipairs(due) do
  redis.call('ZADD', KEYS[1], string.format('%.0f', visible_at), id)
  local deliveries = redis.call('HINCRBY', KEYS[3], id, 1)
  messages[i] = {id, redis.call('HGET', KEYS[2], id) or '', deliveries}
end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local next_ms = first[1] and math.max(0, first[2] - now) or -1
local wake = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
return {visible_at, next_ms, wake[1] and wake[1][1] or '0-0', messages}
)lua");
  return *kScript;
}

// ARGV pairs of id and visible_at. Returns the number removed.
const Script& delayed_done_script() {
  static const Script* const kScript = new Script(R"lua(
local count = 0
for i = 1, #ARGV, 2 do
  local due = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if due and tonumber(due) == tonumber(ARGV[i + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
    count = count + 1
  end
end
return count
)lua");
  return *kScript;
}

// ARGV id. Returns 1 if it removed it.
const Script& cancel_script() {
  static const Script* const kScript = new Script(R"lua(
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
)lua");
  return *kScript;
}

// ARGV  1 id  2 visible_at  3 ms from now.
// Returns when it is due, or -1 if it was removed or taken again meanwhile.
const Script& postpone_script() {
  static const Script* const kScript = new Script(R"lua(
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) ~= tonumber(ARGV[2]) then return -1 end
local time = redis.call('TIME')
due = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], string.format('%.0f', due), ARGV[1])
if due < tonumber(first[2]) then
  redis.call('XADD', KEYS[4], 'MAXLEN', 1, '*', 'due', string.format('%.0f', due))
end
return due
)lua");
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
  if (const absl::Status checked = check_id(id); !checked.ok()) return checked;
  if (const absl::Status checked = check_push(body); !checked.ok()) return checked;
  const DecimalText ms(time_ms);
  const DecimalText size_max(options_.size_max);
  const std::string_view arguments[] = {id, body, ms, how, size_max};
  const Reply pushed = client_->run(delayed_push_script(), views_of(keys_), arguments);
  if (!pushed.is_integer()) return to_status(pushed, "pushing a message");
  if (pushed.integer() == 0) return queue_is_full(name_, options_.size_max);
  if (pushed.integer() > 0) return absl::OkStatus();
  return absl::AlreadyExistsError(concat("queue ", name_, ": message ", id, " is there already"));
}

absl::StatusOr<bool> DelayedQueue::cancel(std::string_view id) {
  if (const absl::Status checked = check_id(id); !checked.ok()) return checked;
  const std::string_view arguments[] = {id};
  const Reply removed = client_->run(cancel_script(), views_of(keys_), arguments);
  if (!removed.is_integer()) return to_status(removed, "cancelling a message");
  return removed.integer() == 1;
}

absl::StatusOr<std::vector<QueueMessage>> DelayedQueue::take(std::size_t count_max,
                                                             std::int64_t wait_ms) {
  if (const absl::Status checked = check_take(count_max, wait_ms); !checked.ok()) return checked;
  QueueWait wait(clock_, wait_ms, interrupts_);
  bool is_last = false;
  while (true) {
    auto taken = take_due(count_max);
    if (!taken.ok()) return taken.status();
    if (!taken->messages.empty() || is_last) return std::move(taken->messages);
    const std::int64_t look_again_ms =
        taken->next_ms < 0 ? kLookAgainMs : std::min(taken->next_ms, kLookAgainMs);
    const std::int64_t block_ms = wait.begin(look_again_ms);
    if (block_ms == 0) return std::move(taken->messages);
    // Each entry wakes all waiting consumers: the one that takes the message may be busy when the
    // next one is due.
    const Reply woken =
        (*client_)("XREAD", "BLOCK", block_ms, "STREAMS", keys_.wake, taken->wake_id);
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
  if (const absl::Status checked = check_done(messages.size()); !checked.ok()) return checked;
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
  const absl::Status checked = check_queue_number("delay_ms", delay_ms, 0, kDelayMsMax);
  if (!checked.ok()) return checked;
  const DecimalText visible_at_ms(message.visible_at_ms);
  const DecimalText delay(delay_ms);
  const std::string_view arguments[] = {message.id, visible_at_ms, delay};
  const Reply due_ms = client_->run(postpone_script(), views_of(keys_), arguments);
  if (!due_ms.is_integer()) return to_status(due_ms, "postponing a message");
  if (due_ms.integer() < 0) return false;
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
