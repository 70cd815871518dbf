#include "engine/recipes/queues/queue_checks.h"

#include "engine/core/base/concat.h"
#include "engine/recipes/option_ranges.h"

namespace rushgate {

absl::Status check_queue_number(std::string_view what, std::int64_t value, std::int64_t minimum,
                                std::int64_t maximum) {
  return OptionRanges("queue").check(what, value, minimum, maximum).fault();
}

absl::Status check_queue_text(std::string_view what, std::string_view text) {
  if (!text.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(concat("queue: ", what, " is empty"));
}

absl::Status check_push(std::string_view body) {
  if (body.size() <= Queue::kBodyBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat("queue: a message has ", body.size(), " bytes, and may have ", Queue::kBodyBytesMax));
}

absl::Status check_take(std::size_t count_max, std::int64_t wait_ms) {
  return OptionRanges("queue")
      .check("count_max", static_cast<std::int64_t>(count_max), 1, Queue::kCountMax)
      .check("wait_ms", wait_ms, 0, Queue::kWaitMsMax)
      .fault();
}

absl::Status check_done(std::size_t count) {
  if (count <= Queue::kCountMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      concat("queue: done() of ", count, " messages, and may be of ", Queue::kCountMax));
}

std::string tagged_queue_name(std::string_view name) {
  return name.find('{') == std::string_view::npos ? concat("{", name, "}") : std::string(name);
}

absl::Status queue_is_full(std::string_view name, std::int64_t size_max) {
  return absl::ResourceExhaustedError(
      concat("queue ", name, ": ", size_max, " messages wait already"));
}

}  // namespace rushgate
