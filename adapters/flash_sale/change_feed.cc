#include "adapters/flash_sale/change_feed.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thrown.h"

namespace rushgate {
absl::StatusOr<bool> ChangeFeed::report() {
  is_wanted_ = true;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  is_wanted_ = false;
  const auto reported = report_portion();
  lock.unlock();
  if (!reported.ok()) return reported.status();
  // Read after the unlocking: from then on, other threads report themselves.
  return *reported || is_wanted_.load();
}

/// Returns true if it reported a change.
absl::StatusOr<bool> ChangeFeed::report_portion() {
  if (clock_.monotonic_ms() < paused_until_ms_) return pause_reason_;
  absl::StatusOr<std::vector<OrderChange>> changes;
  try {
    changes = changes_.changes(position_, kPortion, {});
  } catch (...) {
    changes = thrown();
  }
  if (!changes.ok()) return pause(changes.status());
  for (const OrderChange& change : *changes) {
    if (const absl::Status called = call_hook(change); !called.ok()) return pause(called);
    position_ = change.position;
  }
  pause_ms_ = 0;
  return !changes->empty();
}

absl::Status ChangeFeed::call_hook(const OrderChange& change) {
  try {
    hook_(change);
    return absl::OkStatus();
  } catch (...) {
    return absl::UnknownError(concat("on_state failed at change ", change.position, " of order ",
                                     change.order, ": ", std::string(thrown().message())));
  }
}

/// Pauses, and logs the reason unless the feed already pauses for it.
absl::Status ChangeFeed::pause(const absl::Status& reason) {
  const bool is_known = pause_ms_ > 0 && reason == pause_reason_;
  pause_ms_ =
      pause_ms_ == 0 ? options_.retry_after_ms : std::min(2 * pause_ms_, options_.pause_ms_max);
  paused_until_ms_ = clock_.monotonic_ms() + pause_ms_;
  if (options_.logger && !is_known) {
    log_error(*options_.logger, concat("changes of orders are not reported: ", reason.message()));
  }
  pause_reason_ = reason;
  return reason;
}

absl::StatusOr<bool> ChangeFeed::is_complete() {
  ASSIGN_OR_RETURN(const auto last, changes_.last_position());
  return position() >= last;
}

}  // namespace rushgate
