// Frees large values on a thread of its own, so that the turn does not wait for it. (Redis's lazy
// freeing: https://redis.io/docs/latest/commands/unlink/)
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

/// Used by one thread at a time, but for counts() and bytes_pending(). Its own thread begins with
/// the first large value.
class LazyFree {
 public:
  /// What a commit batch frees at once: in about 100 µs, if the blocks are small.
  static constexpr std::size_t kBytesAtOnceMax = std::size_t{64} * 1024;
  /// A value of up to so many bytes is not worth a thread, and always freed at once.
  static constexpr std::size_t kBytesSmallMax = 512;
  /// A batch that leaves more than this to the thread waits for it, but no longer than kWaitMax.
  static constexpr std::size_t kBytesPendingMax = std::size_t{256} * 1024 * 1024;
  /// The turn waits for the thread for this time at most, once for each value that it left to it.
  static constexpr std::chrono::milliseconds kWaitMax{1};
  /// A value that is freed part by part is counted off in such portions.
  static constexpr std::size_t kBytesPortion = std::size_t{1024} * 1024;

  /// Notes that so many bytes of a value are freed.
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

  /// Allows the thread. Without it everything is freed at once.
  void use_thread();
  /// Ends the thread when it has freed everything. Values that come later are freed at once.
  void stop();

  /// The bytes that are freed at once are counted from here.
  void begin_batch() { at_once_left_ = kBytesAtOnceMax; }

  /// Frees `value`, which holds about `bytes`, and stands for so many objects. The thread calls
  /// T::free_parts(FreedPart), if there is one, before it deletes the value. A large value is freed
  /// at once only without the thread, or if the queue finds no memory.
  template <class T>
  void free(std::unique_ptr<T> value, std::size_t bytes, std::size_t objects = 1) noexcept {
    free(Item{value.release(), destroy<T>, bytes, objects});
  }
  /// Ends the batch. Waits if it left values to the thread and more than kBytesPendingMax wait.
  void end_batch() {
    if (std::exchange(has_left_, false)) wait_until_at_most(kBytesPendingMax);
  }

  /// Of values that wait, or are being freed.
  [[nodiscard]] std::size_t bytes_pending() const {
    return bytes_pending_.load(std::memory_order_acquire);
  }
  /// Waits until that is at most `bytes`, within kWaitMax. Returns true if it is.
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
  bool has_left_ = false;                  // a value to the thread, in this batch
  std::chrono::nanoseconds wait_left_{0};  // of kWaitMax, since a value was left to the thread
  std::thread thread_;
  mutable std::mutex mutex_;         // guards what follows
  std::condition_variable changed_;  // there is something to free, or the end is near
  std::condition_variable freed_;
  std::deque<Item> waiting_;
  bool may_use_thread_ = false;
  Counts counts_;  // but for those that follow

  std::atomic<std::size_t> bytes_pending_{0};  // written under the mutex
  std::atomic<std::uint64_t> objects_at_once_{0};
  std::atomic<std::uint64_t> bytes_at_once_{0};
};

/// Holds what an undo step may bring back. What is left in it when it is destroyed is freed lazily:
/// before that T::prepare_to_be_freed(), if there is one, releases what only the turn may touch.
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
