// A block of ids that threads take from without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace rushgate {

/// take() is for any thread. The other methods are for one thread at a time: their caller holds a
/// lock.
///
/// One atomic number holds the block's generation and the number of ids taken. The block itself is
/// in one of two slots. A slot is written only while the number names the other one. A thread that
/// read a slot too early therefore fails to change the number, and reads again.
class IdCursor {
 public:
  static constexpr std::int64_t kBlockMax = std::int64_t{1} << 30;

  struct Taken {
    std::int64_t first = 0;
    std::uint32_t count = 0;  // 0: the block is used up
    bool is_low = false;      // at most low() ids are left
  };
  struct Block {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };

  Taken take(std::uint32_t count_max) {
    std::uint64_t state = state_.load(std::memory_order_acquire);
    while (true) {
      const Slot& slot = slot_of(state);
      const std::int64_t first = slot.first.load(std::memory_order_acquire);
      const std::uint32_t size = slot.size.load(std::memory_order_acquire);
      const std::uint32_t alert = slot.alert.load(std::memory_order_acquire);
      const auto used = static_cast<std::uint32_t>(state);
      const std::uint32_t count = std::min(count_max, size - std::min(size, used));
      if (count == 0) {
        const std::uint64_t now = state_.load(std::memory_order_acquire);
        if (now == state) return {};
        state = now;
        continue;
      }
      if (state_.compare_exchange_weak(state, state + count, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        return {.first = first + used, .count = count, .is_low = used + count >= alert};
      }
    }
  }

  /// Ends the block, and returns its remaining ids.
  Block retire() { return replace({}, 0); }

  /// Begins a block of at most kBlockMax ids. The one before it must be ended or used up. take()
  /// reports is_low once at most `low` ids are left.
  void publish(Block block, std::int64_t low) { replace(block, low); }

  /// Returns the number of ids left.
  [[nodiscard]] std::int64_t left() const {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    return std::int64_t{slot_of(state).size.load(std::memory_order_relaxed)} -
           static_cast<std::uint32_t>(state);
  }
  /// Makes take() report is_low once at most `low` ids are left.
  void set_low(std::int64_t low) {
    Slot& slot = slot_of(state_.load(std::memory_order_relaxed));
    slot.alert.store(slot.size.load(std::memory_order_relaxed) - static_cast<std::uint32_t>(low),
                     std::memory_order_release);
  }

 private:
  static constexpr int kGenerationShift = 32;

  struct Slot {
    std::atomic<std::int64_t> first{0};
    std::atomic<std::uint32_t> size{0};
    std::atomic<std::uint32_t> alert{0};  // ids taken when few are left
  };

  [[nodiscard]] const Slot& slot_of(std::uint64_t state) const {
    return slots_[state >> kGenerationShift & 1];
  }
  [[nodiscard]] Slot& slot_of(std::uint64_t state) { return slots_[state >> kGenerationShift & 1]; }

  Block replace(Block block, std::int64_t low) {
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

  alignas(64) std::atomic<std::uint64_t> state_{0};  // generation, ids taken
  alignas(64) std::array<Slot, 2> slots_;
};

}  // namespace rushgate
