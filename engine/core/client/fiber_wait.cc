#include <mutex>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fss.hpp>
#include <boost/fiber/mutex.hpp>

#include "engine/core/client/caller_number.h"
#include <rushgate/fiber_wait.h>

namespace rushgate {
namespace {

class FiberEvent final : public WaitMethod::Event {
 public:
  void happen() override {
    // Notifies under the lock: the waiter may destroy the event as soon as the lock is released.
    const std::lock_guard lock(mutex_);
    has_happened_ = true;
    happened_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    happened_.wait(lock, [this] { return has_happened_; });
  }

 private:
  boost::fibers::mutex mutex_;
  boost::fibers::condition_variable happened_;
  bool has_happened_ = false;  // guarded by mutex_
};

class FiberWait final : public WaitMethod {
 public:
  void wait(absl::FunctionRef<void(Event&)> begin) const override {
    FiberEvent event;
    begin(event);
    event.wait();
  }

  [[nodiscard]] std::uint64_t caller_number() const override {
    static boost::fibers::fiber_specific_ptr<std::uint64_t> number;
    if (number.get() == nullptr) number.reset(new std::uint64_t(new_caller_number()));
    return *number;
  }
};

}  // namespace

const WaitMethod& fiber_wait() {
  static const FiberWait kMethod;
  return kMethod;
}

}  // namespace rushgate
