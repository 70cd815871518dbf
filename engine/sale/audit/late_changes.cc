#include "engine/sale/audit/late_changes.h"

#include <cstddef>

#include "engine/core/base/status_macros.h"

namespace rushgate {

absl::Status LateChanges::begin() {
  first_.clear();
  if (store_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto position, store_->last_position());
  position_ = position;
  return absl::OkStatus();
}

absl::Status LateChanges::refresh() {
  constexpr std::size_t kPortion = 1'000;
  while (store_ != nullptr) {
    const auto changes = store_->changes(position_, kPortion, {});
    if (!changes.ok()) return changes.status();
    for (const OrderChange& change : *changes) {
      first_.try_emplace(change.order, change);
      position_ = change.position;
    }
    if (changes->size() < kPortion) break;
  }
  return absl::OkStatus();
}

}  // namespace rushgate
