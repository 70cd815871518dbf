// A value that one thread changes and any thread may read.
#pragma once

#include <atomic>

namespace rushgate {

/// Copying it copies the value. Orders no other memory.
template <class T>
class SharedValue {
 public:
  explicit SharedValue(T value) : value_(value) {}
  SharedValue(const SharedValue& other) : value_(other.get()) {}
  SharedValue& operator=(const SharedValue& other) { return *this = other.get(); }
  SharedValue& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return get(); }
  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace rushgate
