// Frees large values on a thread of its own, so that the turn does not wait. (Redis's lazy freeing:
// https://redis.io/docs/latest/commands/unlink/)
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"

namespace rushgate {

/// Used by one thread at a time, except counts() and bytes_pending(). Its thread starts with the
/// first large value.
class LazyFree {
 public:
  /// Bytes that a commit batch frees at once: about 100 µs of work, if the blocks are small.
  static constexpr std::size_t kBytesAtOnceMax = std::size_t{64} * 1024;
  /// Values up to this size are always freed at once.
  static constexpr std::size_t kBytesSmallMax = 512;
  /// If more than this is pending after a batch, the batch waits for the thread, up to kWaitMax.
  static constexpr std::size_t kBytesPendingMax = std::size_t{256} * 1024 * 1024;
  /// Maximum time that the turn waits for the thread, once per value passed to it.
  static constexpr std::chrono::milliseconds kWaitMax{1};
  /// Portion in which the freeing of a value is counted.
  static constexpr std::size_t kBytesPortion = std::size_t{1024} * 1024;

  /// Reports that `bytes` of a value were freed.
  using FreedPart = absl::FunctionRef<void(std::size_t bytes)>;

  struct Counts {
    std::uint64_t objects_at_once = 0;  // freed by the calling thread
    std::uint64_t bytes_at_once = 0;
    std::uint64_t objects_later = 0;  // freed on the thread
    std::uint64_t bytes_later = 0;
    std::uint64_t objects_pending = 0;  // waiting, or being freed
    std::uint64_t bytes_pending = 0;
  };

  LazyFree() = default;
  ~LazyFree() { stop(); }
  LazyFree(const LazyFree&) = delete;
  LazyFree& operator=(const LazyFree&) = delete;

  /// Permits the thread. Without it all values are freed at once.
  void use_thread();
  /// Ends the thread after it has freed everything. Later values are freed at once.
  void stop();

  /// Resets the budget of bytes that are freed at once.
  void begin_batch() { at_once_left_ = kBytesAtOnceMax; }

  /// Frees `value`, of about `bytes`, which counts as `objects` objects. The thread calls
  /// T::free_parts(FreedPart), if it exists, before deleting the value. A large value is freed at
  /// once only without the thread, or if the queue has no memory.
  template <class T>
  void free(std::unique_ptr<T> value, std::size_t bytes, std::size_t objects = 1) noexcept {
    free(Item{value.release(), destroy<T>, bytes, objects});
  }
  /// Ends the batch. May wait if it passed values to the thread (kBytesPendingMax).
  void end_batch() {
    if (std::exchange(has_left_, false)) wait_until_at_most(kBytesPendingMax);
  }

  /// Returns the bytes of values that are not freed yet.
  [[nodiscard]] std::size_t bytes_pending() const {
    return bytes_pending_.load(std::memory_order_acquire);
  }
  /// Waits, up to kWaitMax, until at most `bytes` are pending. Returns true on success.
  bool wait_until_at_most(std::size_t bytes);

  [[nodiscard]] Counts counts() const;

 private:
  struct Item {
    void* value;
    void (*destroy)(void*, FreedPart);
    std::size_t bytes;
    std::size_t objects;
  };

  template <class T>
  static void destroy(void* at, FreedPart freed) {
    const std::unique_ptr<T> value(static_cast<T*>(at));
    if constexpr (requires { value->free_parts(freed); }) value->free_parts(freed);
  }

  void free(const Item& item) noexcept;
  bool may_free_at_once(const Item& item);
  void count_at_once(const Item& item);
  bool leave_to_thread(const Item& item) noexcept;
  void loop();
  void free_on_thread(const Item& item);
  void count_freed(std::size_t bytes, std::size_t objects);

  std::size_t at_once_left_ = kBytesAtOnceMax;
  bool has_left_ = false;                  // passed a value to the thread in this batch
  std::chrono::nanoseconds wait_left_{0};  // of kWaitMax, since a value was passed to the thread
  std::thread thread_;
  mutable std::mutex mutex_;         // guards the members below
  std::condition_variable changed_;  // signals a new value, or the end
  std::condition_variable freed_;
  std::deque<Item> waiting_;
  bool may_use_thread_ = false;
  Counts counts_;  // without the pending ones

  std::atomic<std::size_t> bytes_pending_{0};  // written under the mutex
  std::atomic<std::uint64_t> objects_at_once_{0};
  std::atomic<std::uint64_t> bytes_at_once_{0};
};

/// Owns data that an undo step may restore. Its destructor frees the rest lazily.
/// T::prepare_to_be_freed(), if it exists, first releases everything that belongs to the turn.
template <class T>
class Removed {
 public:
  Removed(LazyFree& lazy_free, std::unique_ptr<T> value, std::size_t bytes, std::size_t objects = 1)
      : lazy_free_(&lazy_free), value_(std::move(value)), bytes_(bytes), objects_(objects) {}
  ~Removed() {
    if (value_ == nullptr) return;
    if constexpr (requires { value_->prepare_to_be_freed(); }) value_->prepare_to_be_freed();
    lazy_free_->free(std::move(value_), bytes_, objects_);
  }
  Removed(Removed&&) noexcept = default;
  Removed& operator=(Removed&&) = delete;
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;

  [[nodiscard]] std::unique_ptr<T> take() { return std::move(value_); }

 private:
  LazyFree* lazy_free_;
  std::unique_ptr<T> value_;
  std::size_t bytes_;
  std::size_t objects_;
};

}  // namespace rushgate
