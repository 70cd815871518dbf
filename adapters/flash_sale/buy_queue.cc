#include "adapters/flash_sale/buy_queue.h"

#include <utility>

#include "engine/base/futex.h"
#include "engine/base/prefetch.h"

namespace rushgate {

// ---- The list ---------------------------------------------------------------------------------

namespace {

/// Deletes a node and the nodes that are linked after it.
template <class Node>
void delete_list(Node* node) {
  while (node != nullptr) {
    const std::unique_ptr<Node> owned(std::exchange(node, node->next));
  }
}

}  // namespace

template <class Node>
BuyQueue::List<Node>::~List() {
  delete_list(take_newest_first());
}

template <class Node>
void BuyQueue::List<Node>::push(std::unique_ptr<Node> node) {
  Node* const pushed = node.release();
  pushed->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(pushed->next, pushed)) continue;
}

template <class Node>
Node* BuyQueue::List<Node>::take_all() {
  Node* oldest = nullptr;
  for (Node* newest = take_newest_first(); newest != nullptr;) {
    Node* const older = std::exchange(newest->next, oldest);
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
  delete_list(ready_);
  delete_list(reusable_);
}

bool BuyQueue::submit(BuyRequest request, BuyCompletion completion) {
  if (purchases_.fetch_add(1) >= purchases_max_) {
    purchases_.fetch_sub(1);
    return false;
  }
  auto purchase = new_purchase();
  purchase->request = std::move(request);
  purchase->completion = std::move(completion);
  undecided_.fetch_add(1);
  submitted_.push(std::move(purchase));
  // The thread announces its sleep before it checks the list a last time.
  if (sleeps_.load() == 1 && sleeps_.exchange(0) == 1) futex_wake(&sleeps_);
  return true;
}

/// Returns the memory of a completed purchase, if no other thread is taking some.
std::unique_ptr<BuyQueue::Purchase> BuyQueue::new_purchase() {
  std::unique_ptr<Purchase> purchase;
  if (!is_reusing_.exchange(true)) {
    if (reusable_ == nullptr) reusable_ = unused_.take_newest_first();
    if (reusable_ != nullptr) purchase.reset(std::exchange(reusable_, reusable_->next));
    if (reusable_ != nullptr) prefetch(reusable_);
    is_reusing_ = false;
  }
  return purchase ? std::move(purchase) : std::make_unique<Purchase>();
}

std::size_t BuyQueue::poll(std::size_t count_max) {
  if (is_polled_.exchange(true)) return 0;
  if (!thread_.joinable()) decide();
  constexpr std::size_t kPrefetchAhead = 8;
  std::size_t count = 0;
  for (Batch* batch = nullptr; count < count_max && (batch = oldest_ready()) != nullptr; ++count) {
    const std::size_t at = batch->completed++;
    // The thread that decided has the purchases in its cache.
    if (at + kPrefetchAhead < batch->purchases.size()) {
      const Purchase& later = *batch->purchases[at + kPrefetchAhead];
      prefetch(&later.completion);
      prefetch(&later.request.idempotency_key);
    }
    std::unique_ptr<Purchase> purchase = std::move(batch->purchases[at]);
    BuyCompletion completion = std::move(purchase->completion);
    unused_.push(std::move(purchase));
    purchases_.fetch_sub(1);
    completion(batch->results[at]);
  }
  is_polled_ = false;
  return count;
}

/// Returns the oldest batch with a completion that did not run; null if there is none.
BuyQueue::Batch* BuyQueue::oldest_ready() {
  while (ready_ != nullptr && ready_->completed == ready_->purchases.size()) {
    completed_.push(std::unique_ptr<Batch>(std::exchange(ready_, ready_->next)));
  }
  if (ready_ == nullptr) ready_ = decided_.take_all();
  return ready_;
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
  while (rest != nullptr) {
    std::vector<std::unique_ptr<Purchase>> purchases;
    while (rest != nullptr && purchases.size() < kBatchMax) {
      purchases.emplace_back(std::exchange(rest, rest->next));
    }
    decide(std::move(purchases));
  }
  is_deciding_ = false;
  return has_any;
}

void BuyQueue::decide(std::vector<std::unique_ptr<Purchase>> purchases) {
  const std::size_t count = purchases.size();
  std::vector<BuyRequest> requests;
  requests.reserve(count);
  for (const auto& purchase : purchases) requests.push_back(std::move(purchase->request));
  delete_list(completed_.take_newest_first());
  auto batch = std::make_unique<Batch>();
  batch->results = sale_.buy_all(requests);
  batch->purchases = std::move(purchases);
  decided_.push(std::move(batch));
  undecided_.fetch_sub(count);
  undecided_.notify_all();
}

}  // namespace rushgate
