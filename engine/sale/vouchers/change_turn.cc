#include "engine/sale/vouchers/change_turn.h"

#include <system_error>
#include <thread>

#include "engine/core/base/thread_name.h"
#include "engine/core/client/thread_wait.h"

namespace rushgate {

ChangeTurn::ChangeTurn(const WaitMethod* wait) : wait_(wait_method(wait)) {}

bool ChangeTurn::try_take() {
  const std::lock_guard lock(mutex_);
  if (is_taken_) return false;
  return is_taken_ = true;
}

/// Only a caller that finds the turn taken comes to the timer. It has a thread of its own, because
/// the backend's one may be where the caller waits.
bool ChangeTurn::take(std::chrono::milliseconds patience) {
  if (try_take()) return true;
  Waiter waiter;
  std::thread timer;
  try {
    timer = std::thread([&] { end_after(waiter, patience); });
  } catch (const std::system_error&) {
    return false;  // the system has no thread to spare: as if the time were up
  }
  wait_.wait([&](WaitMethod::Event& resumed) {
    if (!enqueue(waiter, resumed)) resumed.happen();
  });
  timer.join();
  return waiter.has_turn;
}

/// Returns false if the waiter need not wait.
bool ChangeTurn::enqueue(Waiter& waiter, WaitMethod::Event& resumed) {
  const std::lock_guard lock(mutex_);
  if (waiter.is_done) return false;  // the time was up at once
  if (is_taken_) {
    waiter.resumed = &resumed;
    waiting_.push_back(&waiter);
    return true;
  }
  is_taken_ = true;
  waiter.has_turn = waiter.is_done = true;
  is_done_.notify_all();
  return false;
}

void ChangeTurn::end_after(Waiter& waiter, std::chrono::milliseconds patience) {
  name_this_thread("rg-turn");
  std::unique_lock lock(mutex_);
  if (is_done_.wait_for(lock, patience, [&] { return waiter.is_done; })) return;
  waiter.is_done = true;
  std::erase(waiting_, &waiter);
  WaitMethod::Event* const resumed = waiter.resumed;
  lock.unlock();
  if (resumed != nullptr) resumed->happen();
}

void ChangeTurn::give_back() {
  WaitMethod::Event* resumed = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_taken_ = !waiting_.empty();
    if (!is_taken_) return;
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.has_turn = next.is_done = true;
    resumed = next.resumed;
    is_done_.notify_all();
  }
  resumed->happen();
}

}  // namespace rushgate
