#include "engine/sale/ids/id_draws.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include "engine/sale/ids/id_generator.h"
#include "engine/sale/reply_status.h"

namespace rushgate {
namespace {

constexpr std::int64_t kCounterMax = (std::int64_t{1} << IdGenerator::kCounterBits) - 1;
constexpr std::string_view kDrawing = "drawing order ids";

/// yyyyMMdd
std::string day_name(std::int64_t days_since_1970) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days_since_1970}}};
  char text[32];
  std::snprintf(text, sizeof(text), "%04d%02u%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

/// OrderStore::greatest_id() of a user's store, which may throw: completions must not.
absl::StatusOr<OrderId> greatest_id(OrderStore& orders, OrderId below) {
  try {
    return orders.greatest_id(below);
  } catch (const std::exception& error) {
    return absl::UnknownError(error.what());
  } catch (...) {
    return absl::UnknownError("the order store threw something that is no exception");
  }
}

}  // namespace

IdDraws::IdDraws(Client& client, OrderStore& orders, const Clock& clock, const SaleKeys& keys,
                 std::int64_t block_size)
    : client_(client),
      orders_(orders),
      clock_(clock),
      keys_(keys),
      size_max_(block_size * kGrowthMax),
      size_(block_size) {}

void IdDraws::close() {
  const std::lock_guard lock(use_mutex_);
  is_closed_ = true;
}

void IdDraws::drop_ranges() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, day] : days_) day.ranges.clear();
}

std::string IdDraws::key_of(const Draw& draw) const { return keys_.id_counter(day_name(draw.day)); }

// ---- Callers ----

/// Of the day, not of all time: a clock that was once far ahead must not be followed for ever.
absl::Status IdDraws::look_up(std::int64_t day) {
  {
    const std::lock_guard lock(mutex_);
    if (days_[day].is_looked_up) return absl::OkStatus();
  }
  const auto greatest =
      greatest_id(orders_, IdGenerator::make((day + 1) * IdGenerator::kDaySeconds, 0));
  if (!greatest.ok()) return greatest.status();
  const std::int64_t seconds = IdGenerator::made_at_ms(*greatest) / 1'000;

  const std::lock_guard lock(mutex_);
  Day& looked_up = days_[day];
  looked_up.is_looked_up = true;
  if (*greatest > 0 && seconds / IdGenerator::kDaySeconds == day) {
    looked_up.stored = *greatest & kCounterMax;
    looked_up.seconds_min = seconds;
  }
  return absl::OkStatus();
}

std::optional<IdRange> IdDraws::take(std::int64_t day) {
  const std::lock_guard lock(mutex_);
  days_.erase(days_.begin(), days_.lower_bound(day));
  const auto found = days_.find(day);
  if (found == days_.end() || found->second.ranges.empty()) return std::nullopt;
  std::vector<IdRange>& ranges = found->second.ranges;
  IdRange range = ranges.front();
  ranges.erase(ranges.begin());
  range.seconds_min = found->second.seconds_min;
  return range;
}

void IdDraws::ask(std::int64_t day, std::int64_t count_min) {
  Draw draw;
  {
    const std::lock_guard lock(mutex_);
    const Day& asked = days_[day];
    if (is_drawing_ || !asked.ranges.empty()) return;
    is_drawing_ = true;
    draw = {.day = day, .size = std::max(size_, count_min), .above = asked.drawn, .is_asked = true};
  }
  // Not under the lock: without threads the completion runs before this returns.
  client_.submit(Request::of("INCRBY", key_of(draw), draw.size),
                 [self = shared_from_this(), draw](const Reply& reply) {
                   const std::lock_guard in_use(self->use_mutex_);
                   if (self->is_closed_) return;
                   self->end(draw, self->complete(draw, reply));
                 });
}

absl::Status IdDraws::wait(std::int64_t day, std::int64_t count_min) {
  constexpr int kRounds = 10;
  std::uint64_t draws_ended_before = 0;
  {
    const std::lock_guard lock(mutex_);
    draws_ended_before = draws_ended_;
  }
  for (int round = 0; round < kRounds; ++round) {
    ask(day, count_min);
    if (auto ended = result(day, draws_ended_before)) return *std::move(ended);
    const absl::Status paused = pause(round);
    if (!paused.ok()) return paused;
  }
  draw_here(day, count_min);
  return result(day, draws_ended_before).value_or(absl::OkStatus());
}

std::optional<absl::Status> IdDraws::result(std::int64_t day, std::uint64_t draws_ended_before) {
  const std::lock_guard lock(mutex_);
  if (!days_[day].ranges.empty()) return absl::OkStatus();
  const bool has_failed =
      draws_ended_ != draws_ended_before && !failure_.ok() && failed_day_ == day;
  return has_failed ? std::optional(failure_) : std::nullopt;
}

/// Waits a little as the client does: other fibers of the thread go on.
absl::Status IdDraws::pause(int round) {
  // On fibers the answer to the first request comes after the completion of a draw before it.
  constexpr int kPauseMs = 1;
  const Request request = round == 0 ? Request::of("PING")
                                     : Request::of("XREAD", "BLOCK", kPauseMs, "STREAMS",
                                                   keys_.prefix + "no stream", "$");
  const Reply paused = client_.call(request);
  return paused.is_error() ? to_status(paused, kDrawing) : absl::OkStatus();
}

// ---- A draw ----

void IdDraws::draw_here(std::int64_t day, std::int64_t count_min) {
  Draw draw;
  {
    const std::lock_guard lock(mutex_);
    draw = {.day = day, .size = std::max(size_, count_min), .above = days_[day].drawn};
  }
  end(draw, complete(draw, client_("INCRBY", key_of(draw), draw.size)));
}

/// Makes a range of the counter's reply. Draws once more if the counter had lost what it held.
absl::StatusOr<IdRange> IdDraws::complete(const Draw& draw, const Reply& reply) {
  if (!reply.is_integer()) return to_status(reply, kDrawing);
  std::int64_t last = reply.integer();
  const std::int64_t before = last - draw.size;
  if (const absl::Status looked_up = look_up(draw.day); !looked_up.ok()) return looked_up;
  std::int64_t above = draw.above;
  {
    const std::lock_guard lock(mutex_);
    above = std::max(above, days_[draw.day].stored);
  }
  if (before < 0) {
    return absl::FailedPreconditionError("order ids: the counter " + key_of(draw) + " held " +
                                         std::to_string(before));
  }
  if (before < above) {
    // All that is added is ours, so the range at its end is, too.
    const Reply raised = client_("INCRBY", key_of(draw), above - before + kLostGap + draw.size);
    if (!raised.is_integer()) return to_status(raised, kDrawing);
    last = raised.integer();
    if (last - draw.size < above) {
      return absl::UnavailableError("order ids: the counter " + key_of(draw) +
                                    " is being set to something else again and again");
    }
  }
  if (last > kCounterMax) {
    return absl::ResourceExhaustedError("order ids: the counter " + key_of(draw) + " is at " +
                                        std::to_string(last) + ", and a day has " +
                                        std::to_string(kCounterMax) + " ids");
  }
  return IdRange{.next = last - draw.size + 1, .end = last + 1};
}

void IdDraws::end(const Draw& draw, const absl::StatusOr<IdRange>& range) {
  const std::lock_guard lock(mutex_);
  if (draw.is_asked) is_drawing_ = false;
  ++draws_ended_;
  failure_ = range.status();
  failed_day_ = draw.day;
  if (!range.ok()) return;
  Day& day = days_[draw.day];
  // Ids ascend: of two draws that overlapped in time the one of the lower range is dropped.
  if (range->next <= day.drawn) return;
  const std::int64_t now_ms = clock_.monotonic_ms();
  const bool is_busy = day.drawn > 0 && now_ms - day.drawn_at_ms < kBusyMs;
  if (is_busy) size_ = std::min(size_ * 2, size_max_);
  day.drawn = range->end - 1;
  day.drawn_at_ms = now_ms;
  day.ranges.push_back(*range);
}

}  // namespace rushgate
