#include "adapters/flash_sale/buy_queue.h"

#include <utility>

#include "engine/base/futex.h"

namespace rushgate {

// ---- The list ---------------------------------------------------------------------------------

BuyQueue::List::~List() {
  for (Purchase* purchase = take_all(); purchase != nullptr;) {
    const std::unique_ptr<Purchase> owned(std::exchange(purchase, purchase->next));
  }
}

void BuyQueue::List::push(std::unique_ptr<Purchase> purchase) {
  Purchase* const pushed = purchase.release();
  pushed->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(pushed->next, pushed)) continue;
}

BuyQueue::Purchase* BuyQueue::List::take_all() {
  Purchase* oldest = nullptr;
  for (Purchase* newest = newest_.exchange(nullptr); newest != nullptr;) {
    Purchase* const older = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, older);
  }
  return oldest;
}

// ---- The queue --------------------------------------------------------------------------------

BuyQueue::BuyQueue(Sale& sale, std::size_t purchases_max, bool has_thread)
    : sale_(sale), purchases_max_(purchases_max) {
  if (has_thread) thread_ = std::thread([this] { loop(); });
}

BuyQueue::~BuyQueue() {
  decide_all();
  stopping_ = true;
  if (sleeps_.exchange(0) == 1) futex_wake(&sleeps_);
  if (thread_.joinable()) thread_.join();
  while (ready_ != nullptr) {
    const std::unique_ptr<Purchase> owned(std::exchange(ready_, ready_->next));
  }
}

bool BuyQueue::submit(BuyRequest request, BuyCompletion completion) {
  if (purchases_.fetch_add(1) >= purchases_max_) {
    purchases_.fetch_sub(1);
    return false;
  }
  auto purchase = std::make_unique<Purchase>();
  purchase->request = std::move(request);
  purchase->completion = std::move(completion);
  undecided_.fetch_add(1);
  submitted_.push(std::move(purchase));
  // The thread announces its sleep before it checks the list a last time.
  if (sleeps_.load() == 1 && sleeps_.exchange(0) == 1) futex_wake(&sleeps_);
  return true;
}

std::size_t BuyQueue::poll(std::size_t count_max) {
  if (is_polled_.exchange(true)) return 0;
  if (!thread_.joinable()) decide();
  std::size_t count = 0;
  while (count < count_max) {
    if (ready_ == nullptr) ready_ = decided_.take_all();
    if (ready_ == nullptr) break;
    const std::unique_ptr<Purchase> purchase(std::exchange(ready_, ready_->next));
    purchases_.fetch_sub(1);
    purchase->completion(purchase->result);
    ++count;
  }
  is_polled_ = false;
  return count;
}

void BuyQueue::decide_all() {
  while (const std::size_t undecided = undecided_.load()) {
    if (thread_.joinable()) {
      undecided_.wait(undecided);
    } else if (!decide()) {
      std::this_thread::yield();  // another thread decides, or has not pushed yet
    }
  }
}

void BuyQueue::loop() {
  while (!stopping_) {
    if (decide()) continue;
    sleeps_ = 1;
    if (submitted_.is_empty() && !stopping_) futex_wait(sleeps_, 1, -1);
    sleeps_ = 0;
  }
}

/// Decides on submitted purchases. Returns false if there were none, or another thread is deciding.
bool BuyQueue::decide() {
  constexpr std::size_t kBatchMax = 1'024;
  if (is_deciding_.exchange(true)) return false;
  Purchase* rest = submitted_.take_all();
  const bool has_any = rest != nullptr;
  std::vector<std::unique_ptr<Purchase>> batch;
  while (rest != nullptr) {
    batch.clear();
    while (rest != nullptr && batch.size() < kBatchMax) {
      batch.emplace_back(std::exchange(rest, rest->next));
    }
    decide(batch);
  }
  is_deciding_ = false;
  return has_any;
}

void BuyQueue::decide(std::span<std::unique_ptr<Purchase>> batch) {
  std::vector<BuyRequest> requests;
  requests.reserve(batch.size());
  for (const auto& purchase : batch) requests.push_back(std::move(purchase->request));
  std::vector<BuyResult> results = sale_.buy_all(requests);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->result = std::move(results[i]);
    decided_.push(std::move(batch[i]));
  }
  undecided_.fetch_sub(batch.size());
  undecided_.notify_all();
}

}  // namespace rushgate
