// The undo log: one closure per step, run in reverse order.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace rushgate {

struct Object;

/// A stack of closures in memory that is reused for each batch. Recording a step allocates nothing
/// after a warm-up. Not thread-safe.
class UndoLog {
 public:
  UndoLog() = default;
  ~UndoLog() { forget(); }
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  /// The step size for reserve().
  static constexpr std::size_t kStepBytesMax = 256;

  /// Reserves memory for a step of at most kStepBytesMax: the next push() throws nothing.
  void reserve() {
    if (steps_.size() == steps_.capacity()) steps_.reserve(2 * steps_.size() + kStepsMin);
    if (free_bytes_ < kStepBytesMax) use_next_chunk(kStepBytesMax);
  }

  /// Records the undo step of a change. When run, `step` must not throw, record
  /// steps or allocate memory. `changed` is the object whose value it changes, if
  /// any.
  template <class Step>
  void push(Step step, Object* changed = nullptr) {
    static_assert(std::is_nothrow_move_constructible_v<Step>);
    static_assert(alignof(Step) <= kAlignment);
    if (steps_.size() == steps_.capacity()) steps_.reserve(2 * steps_.size() + kStepsMin);
    void* memory = allocate(sizeof(Step));
    new (memory) Step(std::move(step));  // from here on nothing throws
    Entry entry{memory, [](void* at) { (*static_cast<Step*>(at))(); }, nullptr, changed};
    if constexpr (!std::is_trivially_destructible_v<Step>) {
      entry.destroy = [](void* at) { std::destroy_at(static_cast<Step*>(at)); };
    }
    steps_.push_back(entry);
  }

  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  /// Runs every step recorded since size() was `size`, the newest first. Calls `is_changed` for
  /// each object whose value changed.
  void roll_back_to(
      std::size_t size, absl::FunctionRef<void(Object*)> is_changed = [](Object*) {});

  /// Removes all steps without running them.
  void forget();

 private:
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);
  static constexpr std::size_t kChunkBytes = 64 * 1024;
  static constexpr std::size_t kStepsMin = 64;

  struct Entry {
    void* closure;
    void (*run)(void*);
    void (*destroy)(void*);  // null: needs no destruction
    Object* changed;
  };
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };

  void* allocate(std::size_t bytes) {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (rounded > free_bytes_) use_next_chunk(rounded);
    free_bytes_ -= rounded;
    return std::exchange(free_, free_ + rounded);
  }
  void use_next_chunk(std::size_t bytes_min);

  std::vector<Entry> steps_;
  std::vector<Chunk> chunks_;
  std::size_t chunks_used_ = 0;  // including the current one
  std::byte* free_ = nullptr;    // free part of the current one
  std::size_t free_bytes_ = 0;
};

}  // namespace rushgate
