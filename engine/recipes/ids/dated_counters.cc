#include "engine/recipes/ids/dated_counters.h"

#include <algorithm>
#include <utility>

#include "engine/core/client/reply_status.h"
#include "engine/recipes/ids/dated_draw.lua.h"
#include "engine/recipes/ids/dated_loss.lua.h"

namespace rushgate {
namespace {

constexpr std::string_view kDrawingDated = "drawing ids";
constexpr std::int64_t kGapsPerDay = 1'024;

}  // namespace

DatedCounters::DatedCounters(IdLayout layout, CounterKeys keys, const Clock& clock)
    : layout_(layout), keys_(std::move(keys)), clock_(clock) {}

/// Returns a key in the slot of the counter on a Redis Cluster.
std::string DatedCounters::loss_key(const std::string& counter_key) {
  const bool has_tag = counter_key.find('{') != std::string::npos;
  return has_tag ? counter_key + ":loss" : '{' + counter_key + "}:loss";
}

Request DatedCounters::make_request(Draw& draw) {
  const std::int64_t clock_day = layout_.day_of(clock_.now_ms() / 1'000);
  const std::lock_guard lock(mutex_);
  if (day_ < 0 || clock_day != clock_day_) day_ = std::max(clock_day, day_drawn_);
  clock_day_ = clock_day;
  const std::int64_t above = day_ == day_drawn_ ? layout_.counter_of(last_id_) : 0;
  const std::int64_t seconds_min = last_id_ > 0 ? layout_.seconds_of(last_id_) : 0;
  const std::int64_t gap =
      std::min(layout_.counter_max() / kGapsPerDay, (layout_.counter_max() - above) / 2);
  const std::string key = keys_.of(day_);
  draw.losses = possible_losses_;
  return Request::of("EVAL", lua::kDatedDraw, 2, key, loss_key(key), draw.size, above, seconds_min,
                     layout_.begin_of(day_), layout_.begin_of(day_ + 1),
                     losses_covered_ < possible_losses_ ? 1 : 0, above > 0 ? above + gap : 0);
}

bool DatedCounters::is_last(const Reply& reply) {
  return reply.elements().size() != 2 ||
         reply.elements()[0].integer() != lua::dated_draw::kOtherDay;
}

absl::StatusOr<IdRange> DatedCounters::complete(Client& client, Draw draw, Reply reply) {
  constexpr int kDrawsMax = 4;
  for (int draws = 1;; ++draws) {
    if (is_last(reply)) return read(draw, reply);
    if (draws == kDrawsMax) {
      return absl::UnavailableError("ids: the server's clock jumps from day to day");
    }
    {
      const std::lock_guard lock(mutex_);
      day_ = layout_.day_of(reply.elements()[1].integer());
    }
    reply = client.call(make_request(draw));
  }
}

absl::StatusOr<IdRange> DatedCounters::read(const Draw& draw, const Reply& reply) {
  if (reply.elements().size() != 2) return to_status(reply, kDrawingDated);
  const std::int64_t last = reply.elements()[0].integer();
  const std::int64_t second = reply.elements()[1].integer();
  const std::int64_t day = layout_.day_of(second);
  if (last < draw.size) {
    return absl::FailedPreconditionError("ids: the counter " + keys_.of(day) + " held " +
                                         std::to_string(last - draw.size));
  }
  if (last > layout_.counter_max()) {
    return absl::ResourceExhaustedError("ids: the counter " + keys_.of(day) + " is at " +
                                        std::to_string(last) + ", and a day has " +
                                        std::to_string(layout_.counter_max()) + " ids");
  }
  if (second < layout_.epoch_seconds || second > layout_.seconds_max()) {
    return absl::OutOfRangeError("ids: the server's time " + std::to_string(second) +
                                 " is outside of the layout");
  }
  const IdRange range = {.next = layout_.make(second, last - draw.size + 1),
                         .end = layout_.make(second, last) + 1};
  const std::lock_guard lock(mutex_);
  losses_covered_ = std::max(losses_covered_, draw.losses);
  if (range.end - 1 > last_id_) {
    last_id_ = range.end - 1;
    day_drawn_ = day;
  }
  return range;
}

void DatedCounters::declare_loss(Client& connection) {
  const Reply time = connection("TIME");
  if (time.elements().size() == 2) {
    const std::string now = time.elements()[0].text();
    const std::int64_t day = layout_.day_of(std::stoll(now));
    const Reply declared = connection("EVAL", lua::kDatedLoss, 2, loss_key(keys_.of(day)),
                                      loss_key(keys_.of(day + 1)), now);
    if (!declared.is_error()) return;
  }
  const std::lock_guard lock(mutex_);
  ++possible_losses_;
}

}  // namespace rushgate
