#include "engine/recipes/ids/id_draws.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/functional/function_ref.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thrown.h"
#include "engine/core/client/oom_script.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/core/client/thread_wait.h"
#include "engine/recipes/ids/reserved_draw.lua.h"

namespace rushgate {
namespace {

constexpr std::string_view kDrawing = "drawing ids";

/// Calls a user's reservations. They may throw, and completions must not.
absl::StatusOr<std::int64_t> ask_reservations(
    absl::FunctionRef<absl::StatusOr<std::int64_t>()> question) {
  try {
    return question();
  } catch (...) {
    return thrown();
  }
}

}  // namespace

IdDraws::IdDraws(Client& client, const WaitMethod* wait, IdReservations* reservations,
                 const Clock& clock, IdLayout layout, const CounterKeys& keys,
                 std::int64_t block_size, bool has_callback_thread)
    : client_(client),
      wait_(wait_method(wait)),
      reservations_(reservations),
      clock_(clock),
      layout_(layout),
      keys_(keys),
      dated_(layout, keys, clock),
      size_max_(block_size * kGrowthMax),
      size_(block_size) {
  if (has_callback_thread) thread_ = std::make_unique<BackgroundThread>("rg-ids");
}

void IdDraws::close() {
  std::unique_ptr<BackgroundThread> thread;  // ends without the lock, which its task takes
  const std::lock_guard lock(use_mutex_);
  is_closed_ = true;
  thread.swap(thread_);
}

void IdDraws::drop_ranges() {
  const std::lock_guard lock(mutex_);
  for (auto& [number, day] : days_) day.ranges.clear();
  ++losses_;
}

Request IdDraws::make_request(Draw& draw) {
  if (reservations_ == nullptr) {
    DatedCounters::Draw dated{.size = draw.size};
    Request request = dated_.make_request(dated);
    draw.losses = dated.losses;
    return request;
  }
  return reserved_draw(draw, lua::kReservedDraw);
}

Request IdDraws::reserved_draw(const Draw& draw, std::string_view script) const {
  Request request = Request::of("EVAL", script, 1, keys_.of(draw.day), draw.size, draw.above);
  if (draw.begins_at) request.add(*draw.begins_at);
  return request;
}

// ---- Callers ----

absl::Status IdDraws::prepare(std::int64_t day) {
  if (reservations_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(look_up(day));
  const Reply exists = client_("EXISTS", keys_.of(day));
  if (!exists.is_integer()) return to_status(exists, kDrawing);
  return exists.integer() == 0 ? reserve(day, 0) : absl::OkStatus();
}

/// Looks only at the day: a clock that was once far ahead must not be followed for ever.
absl::Status IdDraws::look_up(std::int64_t day) {
  {
    const std::lock_guard lock(mutex_);
    if (days_[day].is_looked_up) return absl::OkStatus();
  }
  const std::int64_t end = layout_.make(layout_.begin_of(day + 1), 0);
  const auto greatest = ask_reservations([&] { return reservations_->greatest_id(end); });
  if (!greatest.ok()) return greatest.status();
  const std::int64_t seconds = layout_.seconds_of(*greatest);
  const auto reserved = ask_reservations([&] { return reservations_->reserve(day, 0, 0); });
  if (!reserved.ok()) return reserved.status();

  const std::lock_guard lock(mutex_);
  Day& looked_up = days_[day];
  looked_up.is_looked_up = true;
  looked_up.reserved = std::max(looked_up.reserved, *reserved);
  if (*greatest > 0 && layout_.day_of(seconds) == day) {
    looked_up.stored = layout_.counter_of(*greatest);
    looked_up.seconds_min = seconds;
  }
  return absl::OkStatus();
}

/// Lets the next draw begin the counter above all that may have been drawn.
absl::Status IdDraws::reserve(std::int64_t day, std::int64_t above, std::int64_t count_min) {
  std::int64_t losses = 0;
  {
    const std::lock_guard lock(mutex_);
    above = std::max({above, days_[day].stored, days_[day].drawn});
    losses = losses_;
  }
  std::int64_t count = 0;
  const auto reserved = ask_reservations([&] {
    count = std::max(reservations_->reserved_at_once(), count_min);
    return reservations_->reserve(day, above, count);
  });
  if (!reserved.ok()) return reserved.status();
  const std::lock_guard lock(mutex_);
  Day& covered = days_[day];
  covered.reserved = *reserved;
  covered.begins_at = *reserved - count;
  // After a loss the counter may be older, and not too low by the values known here.
  if (covered.losses_covered < losses) covered.drawn = std::max(covered.drawn, *reserved - count);
  covered.losses_covered = losses;
  return absl::OkStatus();
}

/// Reserves counters after a loss, unless that was done. So attempts that fail use up one reservation.
absl::Status IdDraws::cover_losses(std::int64_t day) {
  RETURN_IF_ERROR(look_up(day));
  {
    const std::lock_guard lock(mutex_);
    if (days_[day].losses_covered == losses_) return absl::OkStatus();
  }
  return reserve(day, 0);
}

absl::Status IdDraws::raise_counter(Client& connection, std::int64_t day) {
  if (reservations_ == nullptr) return absl::OkStatus();
  const absl::Status covered = cover_losses(day);
  const bool is_used_up = absl::IsResourceExhausted(covered);
  if (!covered.ok() && !is_used_up) return covered;
  Draw draw;
  {
    const std::lock_guard lock(mutex_);
    draw = make_draw(day, 0);
  }
  draw.size = 0;
  if (is_used_up) draw.above = layout_.counter_max();  // nobody draws what others may have
  draw.begins_at = draw.above;
  Reply raised = connection.call(reserved_draw(draw, lua::kReservedDraw));
  if (has_code(raised, redis_error_code::kOutOfMemory)) {  // those that free it connect here, too
    static const std::string* const kWithoutMemory = new std::string(allow_oom(lua::kReservedDraw));
    raised = connection.call(reserved_draw(draw, *kWithoutMemory));
  }
  if (raised.is_integer()) return absl::OkStatus();
  if (has_code(raised, error_code::kOutcomeUnknown)) {
    const std::lock_guard lock(mutex_);
    ++losses_;  // others may draw from here: if the counter is lost now, it begins elsewhere
  }
  return to_status(raised, kDrawing);
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
    if (is_drawing_ || !days_[day].ranges.empty()) return;
    is_drawing_ = true;
    draw = make_draw(day, count_min);
    draw.is_asked = true;
  }
  // Not under the lock: without threads the completion runs before this returns.
  Request request = make_request(draw);
  client_.submit(std::move(request), [self = shared_from_this(), draw](const Reply& reply) {
    self->receive(draw, reply);
  });
}

absl::Status IdDraws::wait(std::int64_t day, std::int64_t count_min) {
  const std::uint64_t ended_before = draws_ended();
  const bool is_in_callback = client_.inside_callback();
  for (;;) {
    // Before the next draw begins: after a failure, that would fail for the next caller.
    const std::uint64_t ended = draws_ended();
    if (auto its_result = result(day, ended_before)) return *std::move(its_result);
    if (is_in_callback) {
      draw_here(day, count_min);
    } else {
      ask(day, count_min);
      wait_for_end(ended);
    }
  }
}

std::uint64_t IdDraws::draws_ended() {
  const std::lock_guard lock(mutex_);
  return draws_ended_;
}

std::optional<absl::Status> IdDraws::result(std::int64_t day, std::uint64_t draws_ended_before) {
  const std::lock_guard lock(mutex_);
  if (!days_[day].ranges.empty()) return absl::OkStatus();
  const bool has_failed =
      draws_ended_ != draws_ended_before && !failure_.ok() && failed_day_ == day;
  return has_failed ? std::optional(failure_) : std::nullopt;
}

/// Waits until more draws than `ended_before` have ended, or none is under way.
void IdDraws::wait_for_end(std::uint64_t ended_before) {
  wait_.wait([&](WaitMethod::Event& ended) {
    {
      const std::lock_guard lock(mutex_);
      if (is_drawing_ && draws_ended_ == ended_before) {
        waiting_.push_back(&ended);
        return;
      }
    }
    ended.happen();
  });
}

// ---- A draw ----

void IdDraws::draw_here(std::int64_t day, std::int64_t count_min) {
  Draw draw;
  {
    const std::lock_guard lock(mutex_);
    draw = make_draw(day, count_min);
  }
  Request request = make_request(draw);
  end(draw, complete(draw, client_.call(std::move(request))));
}

IdDraws::Draw IdDraws::make_draw(std::int64_t day, std::int64_t count_min) {
  Day& drawn = days_[day];
  return {.day = day,
          .size = std::max(size_, count_min),
          .above = std::max(drawn.drawn, drawn.stored),
          .reserved = drawn.reserved,
          .begins_at = std::exchange(drawn.begins_at, std::nullopt),
          .losses_before = losses_,
          .sent_at_ms = clock_.monotonic_ms()};
}

/// Takes the reply to a draw that ask() began, on the thread of the completions.
void IdDraws::receive(const Draw& draw, const Reply& reply) {
  if (can_complete_at_once(draw, reply) || !finish_on_thread(draw, reply)) finish(draw, reply);
}

/// Returns false if there is no thread for it, or no memory.
bool IdDraws::finish_on_thread(const Draw& draw, const Reply& reply) {
  const std::lock_guard lock(use_mutex_);
  if (thread_ == nullptr) return false;
  try {
    thread_->run([self = shared_from_this(), draw, reply] { self->finish(draw, reply); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void IdDraws::finish(const Draw& draw, const Reply& reply) {
  const std::lock_guard in_use(use_mutex_);
  if (!is_closed_) end(draw, complete(draw, reply));
}

/// Returns false if complete() asks the database, or the keyspace once more.
bool IdDraws::can_complete_at_once(const Draw& draw, const Reply& reply) {
  if (reservations_ == nullptr) return DatedCounters::is_last(reply);
  {
    const std::lock_guard lock(mutex_);
    if (!days_[draw.day].is_looked_up) return false;
  }
  return read_reserved(draw, reply).has_value();
}

/// Throws nothing: a draw that fails ends, too.
absl::StatusOr<IdRange> IdDraws::complete(Draw draw, const Reply& reply) {
  try {
    auto range = reservations_ != nullptr
                     ? complete_reserved(draw, reply)
                     : dated_.complete(client_, {.size = draw.size, .losses = draw.losses}, reply);
    if (range.ok()) range->drawn_at_ms = draw.sent_at_ms;
    return range;
  } catch (...) {
    return thrown();
  }
}

/// Makes a range of the counter's reply. Draws once more if the counter was lost, or not reserved.
absl::StatusOr<IdRange> IdDraws::complete_reserved(Draw draw, const Reply& reply) {
  RETURN_IF_ERROR(look_up(draw.day));
  constexpr int kDrawsMax = 4;
  Reply drawn = reply;
  for (int draws = 1;; ++draws) {
    if (auto range = read_reserved(draw, drawn)) {
      const bool did_not_run = !drawn.is_integer() && !has_code(drawn, error_code::kOutcomeUnknown);
      if (did_not_run) keep_beginning(draw);
      return *std::move(range);
    }
    if (draws == kDrawsMax) {
      return absl::UnavailableError("ids: the counter " + keys_.of(draw.day) +
                                    " is being set to something else again and again");
    }
    RETURN_IF_ERROR(reserve(draw.day, drawn.integer(), 2 * draw.size));
    {
      const std::lock_guard lock(mutex_);
      const bool is_asked = draw.is_asked;
      draw = make_draw(draw.day, draw.size);
      draw.is_asked = is_asked;
    }
    drawn = client_.call(make_request(draw));
  }
}

/// Returns the result of a draw of a day that is looked up; nothing if the counters may be others', too.
std::optional<absl::StatusOr<IdRange>> IdDraws::read_reserved(const Draw& draw,
                                                              const Reply& reply) {
  if (!reply.is_integer()) return to_status(reply, kDrawing);
  const std::int64_t last = reply.integer();
  const std::int64_t before = last - draw.size;
  if (last != 0 && before < 0) {
    return absl::FailedPreconditionError("ids: the counter " + keys_.of(draw.day) + " held " +
                                         std::to_string(before));
  }
  if (last > layout_.counter_max()) {
    return absl::ResourceExhaustedError("ids: the counter " + keys_.of(draw.day) + " is at " +
                                        std::to_string(last) + ", and a day has " +
                                        std::to_string(layout_.counter_max()) + " ids");
  }
  const std::lock_guard lock(mutex_);
  const Day& day = days_[draw.day];
  const bool is_reserved =
      last != 0 && before >= std::max(draw.above, day.stored) && last <= draw.reserved;
  // The keyspace may have lost the counter, so that the drawn counters are other draws', too.
  const bool may_be_lost = draw.losses_before < losses_ || day.losses_covered < losses_;
  if (!is_reserved || may_be_lost) return std::nullopt;
  return IdRange{.next = before + 1, .end = last + 1};
}

/// Lets the next draw begin a lost counter where this one, which did not run, would have.
void IdDraws::keep_beginning(const Draw& draw) {
  const std::lock_guard lock(mutex_);
  Day& day = days_[draw.day];
  if (draw.losses_before == losses_ && !day.begins_at) day.begins_at = draw.begins_at;
}

void IdDraws::end(const Draw& draw, const absl::StatusOr<IdRange>& range) {
  std::vector<WaitMethod::Event*> resumed;
  {
    const std::lock_guard lock(mutex_);
    if (draw.is_asked) is_drawing_ = false;
    ++draws_ended_;
    failure_ = range.ok() ? add(draw.day, *range) : range.status();
    failed_day_ = draw.day;
    resumed.swap(waiting_);
  }
  for (WaitMethod::Event* const ended : resumed) ended->happen();
}

absl::Status IdDraws::add(std::int64_t to_day, const IdRange& range) {
  try {
    Day& day = days_[to_day];
    // Ids ascend: of two overlapping draws the one with the lower range is dropped.
    if (range.next <= day.drawn) return absl::OkStatus();
    day.ranges.push_back(range);
    const std::int64_t now_ms = clock_.monotonic_ms();
    const bool is_busy = day.drawn > 0 && now_ms - day.drawn_at_ms < kBusyMs;
    if (is_busy) size_ = std::min(size_ * 2, size_max_);
    day.drawn = range.end - 1;
    day.drawn_at_ms = now_ms;
  } catch (...) {
    return thrown();
  }
  return absl::OkStatus();
}

}  // namespace rushgate
