#include <rushgate/ids.h>

namespace rushgate {

IdCursor::Block IdCursor::retire() { return replace({}, 0); }

void IdCursor::publish(Block block, std::int64_t low) { replace(block, low); }

std::int64_t IdCursor::left() const {
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  return std::int64_t{slot_of(state).size.load(std::memory_order_relaxed)} -
         static_cast<std::uint32_t>(state);
}

void IdCursor::set_low(std::int64_t low) {
  Slot& slot = slot_of(state_.load(std::memory_order_relaxed));
  slot.alert.store(slot.size.load(std::memory_order_relaxed) - static_cast<std::uint32_t>(low),
                   std::memory_order_release);
}

/// Begins `block`, and returns the remaining ids of the block before it.
IdCursor::Block IdCursor::replace(Block block, std::int64_t low) {
  const std::uint64_t next = ((state_.load(std::memory_order_relaxed) >> kGenerationShift) + 1)
                             << kGenerationShift;
  Slot& slot = slot_of(next);
  slot.first.store(block.first, std::memory_order_release);
  slot.size.store(static_cast<std::uint32_t>(block.count), std::memory_order_release);
  slot.alert.store(static_cast<std::uint32_t>(block.count - low), std::memory_order_release);
  const std::uint64_t before = state_.exchange(next, std::memory_order_acq_rel);
  const auto used = static_cast<std::uint32_t>(before);
  const Slot& ended = slot_of(before);
  return {.first = ended.first.load(std::memory_order_relaxed) + used,
          .count = std::int64_t{ended.size.load(std::memory_order_relaxed)} - used};
}

}  // namespace rushgate
