#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/time_units.h"
#include "engine/core/client/connection_check.h"
#include "engine/recipes/ids/id_draws.h"
#include <rushgate/ids.h>

namespace rushgate {
namespace {

/// The ids of this day's last minute request the next day's first block.
constexpr std::int64_t kDayEndSeconds = 60;

/// Where the field's generators begin to count seconds, by a local clock.
constexpr std::int64_t kFieldEpoch = 1'640'995'200;  // 2022-01-01 00:00

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

/// The block, and the state of its timer. The timer may run while the generator ends.
struct IdGenerator::Blocks {
  std::mutex mutex;
  IdCursor cursor;  // all but take(): guarded by mutex
  // Guarded by mutex:
  std::int64_t low = 0;         // the number left when the next block is requested
  std::int64_t ends_at_ms = 0;  // when the block's life ends; monotonic
  bool has_timer = false;
};

IdOptions IdOptions::of(std::string_view prefix) {
  IdOptions options;
  options.key_prefix = "icr:" + std::string(prefix) + ':';
  return options;
}

IdOptions IdOptions::beside_field(std::string_view prefix, std::string_view day_pattern,
                                  int utc_offset_minutes) {
  IdOptions options = of(prefix);
  options.day_pattern = day_pattern;
  options.layout.utc_offset_minutes = utc_offset_minutes;
  options.layout.epoch_seconds = kFieldEpoch - std::int64_t{utc_offset_minutes} * 60;
  return options;
}

absl::Status IdOptions::check() const {
  constexpr int kCounterBitsMin = 8;
  constexpr int kCounterBitsMax = 40;
  constexpr std::int64_t kBlockMax = IdCursor::kBlockMax / IdDraws::kGrowthMax;
  if (!is_day_pattern(day_pattern))
    return absl::InvalidArgumentError("day_pattern must have yyyy, MM and dd once: " + day_pattern);
  if (layout.counter_bits < kCounterBitsMin || layout.counter_bits > kCounterBitsMax)
    return absl::InvalidArgumentError("layout.counter_bits must be from 8 to 40");
  if (layout.epoch_seconds < 0)
    return absl::InvalidArgumentError("layout.epoch_seconds must not be negative");
  if (!is_utc_offset(layout.utc_offset_minutes))
    return absl::InvalidArgumentError(
        concat("layout.utc_offset_minutes ", kUtcOffsetFault, ", not ", layout.utc_offset_minutes));
  if (block_size <= 0 || block_size > kBlockMax)
    return absl::InvalidArgumentError(concat("block_size must be from 1 to ", kBlockMax));
  if (block_life_ms <= 0) return absl::InvalidArgumentError("block_life_ms must be positive");
  if (client.protocol != ClientOptions{}.protocol)
    return absl::InvalidArgumentError("client.protocol must be 2");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<IdGenerator>> IdGenerator::open(Backend& backend, IdOptions options,
                                                               IdReservations* reservations) {
  RETURN_IF_ERROR(options.check());
  return std::make_unique<IdGenerator>(backend, std::move(options), reservations);
}

IdGenerator::IdGenerator(Backend& backend, IdOptions options, IdReservations* reservations)
    : backend_(backend),
      clock_(backend.clock()),
      options_(std::move(options)),
      reservations_(reservations),
      client_(backend.open_client(options_.client)),
      draws_(std::make_shared<IdDraws>(
          *client_, options_.client.wait, reservations, clock_, options_.layout,
          CounterKeys{options_.key_prefix, options_.day_pattern}, options_.block_size,
          backend.capabilities().has_callback_thread)),
      blocks_(std::make_shared<Blocks>()),
      cursor_(blocks_->cursor) {
  if (reservations_ != nullptr) return;
  connection_check_ = std::make_unique<OwnedConnectionCheck>([draws = draws_](Client& connection) {
    draws->declare_loss(connection);
    return absl::OkStatus();
  });
  backend.add_connection_check(connection_check_->get());
}

IdGenerator::~IdGenerator() { draws_->close(); }

std::int64_t IdGenerator::day() const {
  return reservations_ == nullptr ? IdDraws::kAnyDay : options_.layout.day_of(seconds_);
}

absl::Status IdGenerator::prepare() {
  return draws_->prepare(options_.layout.day_of(clock_.now_ms() / 1'000));
}

void IdGenerator::forget_draws() {
  const std::lock_guard lock(blocks_->mutex);
  draws_->drop_ranges();
  cursor_.retire();
  spares_.forget(options_.layout.make(seconds_ + 1, 0));  // also ids that come back later
}

absl::Status IdGenerator::raise_counter(Client& connection) {
  return draws_->raise_counter(connection, options_.layout.day_of(clock_.now_ms() / 1'000));
}

void IdGenerator::give_back(std::span<const std::int64_t> ids) {
  if (reservations_ != nullptr) spares_.add(ids);
}

std::size_t IdGenerator::take_spares(std::span<std::int64_t> ids) {
  update_seconds();
  return spares_.take(ids, options_.layout.make(seconds_, 0));
}

absl::StatusOr<std::int64_t> IdGenerator::finish(IdCursor::Taken taken) {
  if (taken.count == 1) {
    ask_ahead();
    return taken.first;
  }
  std::int64_t id = 0;
  std::size_t count = 0;
  const absl::Status given = next_ids({&id, 1}, count);
  if (!given.ok()) return given;
  return id;
}

absl::Status IdGenerator::next_ids(std::span<std::int64_t> ids, std::size_t& count) {
  constexpr std::size_t kTakenMax = IdCursor::kBlockMax;
  bool is_low = false;
  bool has_waited = false;
  count = spares_.is_empty() ? 0 : take_spares(ids);
  if (count == ids.size()) return absl::OkStatus();
  while (true) {
    const std::size_t missing = ids.size() - count;
    const auto taken = take(static_cast<std::uint32_t>(std::min(missing, kTakenMax)));
    for (std::uint32_t i = 0; i < taken.count; ++i) ids[count++] = taken.first + i;
    is_low = taken.is_low;
    if (count == ids.size()) break;
    if (taken.count > 0 || renew(day(), has_waited)) continue;
    if (reservations_ != nullptr && !is_in_layout(seconds_)) {
      return absl::OutOfRangeError("ids: the time " + std::to_string(seconds_) +
                                   " is outside of the layout");
    }
    RETURN_IF_ERROR(
        draws_->wait(day(), std::min(static_cast<std::int64_t>(missing), IdCursor::kBlockMax)));
    has_waited = true;
  }
  if (is_low) ask_ahead();
  return absl::OkStatus();
}

/// Asks for the next block without holding the lock: the client may suspend this fiber, and another
/// fiber of the thread may need an id.
void IdGenerator::ask_ahead() {
  {
    const std::lock_guard lock(blocks_->mutex);
    const std::int64_t left = cursor_.left();
    if (left > blocks_->low) return;
    blocks_->low = left / 2;  // requested again later, since the draw may fail
    cursor_.set_low(blocks_->low);
  }
  draws_->ask(day(), 1);
}

/// Moves the rest of the block to the present seconds. With reservations.
void IdGenerator::update_seconds() {
  const std::int64_t now = clock_.now_ms() / 1'000;
  if (now <= seconds_.load(std::memory_order_relaxed)) return;
  std::int64_t tomorrow = kNever;
  {
    const std::lock_guard lock(blocks_->mutex);
    if (now <= seconds_) return;
    seconds_ = now;
    if (day_ >= 0) {
      const IdCursor::Block left = cursor_.retire();
      if (day() == day_ && left.count > 0 && is_in_layout(now)) {
        const std::int64_t next = options_.layout.counter_of(left.first);
        publish_counters(next, next + left.count);
      }
      if (now >= tomorrow_from_) tomorrow = day() + 1;
    }
  }
  if (tomorrow != kNever) draws_->ask(tomorrow, 1);
}

bool IdGenerator::is_in_layout(std::int64_t seconds) const {
  return seconds >= options_.layout.epoch_seconds && seconds <= options_.layout.seconds_max();
}

/// Begins the block that is ready, if there is one. A block that waited for long may have ended.
bool IdGenerator::renew(std::int64_t day, bool accepts_old) {
  std::int64_t tomorrow = kNever;
  {
    const std::lock_guard lock(blocks_->mutex);
    if (cursor_.left() > 0) return true;
    const auto range = draws_->take(day);
    if (!range) return false;
    const std::int64_t ends_at_ms = range->drawn_at_ms + options_.block_life_ms;
    const bool is_old = reservations_ == nullptr && clock_.monotonic_ms() >= ends_at_ms;
    if (is_old && !accepts_old) return false;
    blocks_->low = (range->end - range->next) / 2;
    if (reservations_ == nullptr) {
      blocks_->ends_at_ms = ends_at_ms;
      cursor_.publish({.first = range->next, .count = range->end - range->next}, blocks_->low);
      if (!blocks_->has_timer) end_block_later(backend_.scheduler(), backend_.clock(), blocks_);
      return true;
    }
    day_ = day;
    seconds_ = std::max(seconds_.load(), range->seconds_min);
    tomorrow_from_ = options_.layout.begin_of(day + 1) - kDayEndSeconds;
    publish_counters(range->next, range->end);
    if (seconds_ >= tomorrow_from_) tomorrow = day + 1;
  }
  if (tomorrow != kNever) draws_->ask(tomorrow, 1);
  return true;
}

void IdGenerator::publish_counters(std::int64_t next, std::int64_t end) {
  const std::int64_t count = end - next;
  cursor_.publish({.first = options_.layout.make(seconds_, next), .count = count},
                  std::min(blocks_->low, count));
}

/// Sets the timer that ends the block. The caller holds the mutex.
void IdGenerator::end_block_later(Scheduler& scheduler, const Clock& clock,
                                  const std::shared_ptr<Blocks>& blocks) {
  blocks->has_timer = true;
  scheduler.at(blocks->ends_at_ms, [&scheduler, &clock, weak = std::weak_ptr(blocks)] {
    const std::shared_ptr<Blocks> alive = weak.lock();
    if (!alive) return;
    const std::lock_guard lock(alive->mutex);
    alive->has_timer = false;
    if (clock.monotonic_ms() < alive->ends_at_ms) return end_block_later(scheduler, clock, alive);
    alive->cursor.retire();
  });
}

}  // namespace rushgate
