#include "adapters/flash_sale/submit_queue.h"

#include <exception>
#include <span>
#include <string>
#include <utility>

#include "adapters/flash_sale/decide_safely.h"
#include "engine/core/base/futex.h"
#include "engine/core/base/prefetch.h"
#include "engine/core/base/thread_name.h"

namespace rushgate {

// ---- The list ---------------------------------------------------------------------------------

namespace {

template <class Result>
Result unknown(const std::string& detail) {
  return {.outcome = decltype(Result::outcome)::kOutcomeUnknown, .detail = detail};
}
template <>
absl::Status unknown(const std::string& detail) {
  return absl::UnknownError(detail);
}

/// Returns the result of a call. An exception of a user's order store becomes the result.
template <class Result, class Call>
Result call_safely(Call& call, Sale& sale) {
  try {
    return call(sale);
  } catch (const std::exception& error) {
    return unknown<Result>(error.what());
  } catch (...) {
    return unknown<Result>(kThrewNoException);
  }
}

/// Deletes a node and the nodes that are linked after it.
template <class Node>
void delete_list(Node* node) {
  while (node != nullptr) {
    const std::unique_ptr<Node> owned(std::exchange(node, node->next));
  }
}

}  // namespace

template <class Node>
void SubmitQueue::List<Node>::clear() {
  delete_list(take_newest_first());
}

template <class Node>
void SubmitQueue::List<Node>::push(std::unique_ptr<Node> node) {
  Node* const pushed = node.release();
  pushed->next = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(pushed->next, pushed)) continue;
}

template <class Node>
Node* SubmitQueue::List<Node>::take_all() {
  Node* oldest = nullptr;
  for (Node* newest = take_newest_first(); newest != nullptr;) {
    Node* const older = std::exchange(newest->next, oldest);
    oldest = std::exchange(newest, older);
  }
  return oldest;
}

// ---- The queue --------------------------------------------------------------------------------

SubmitQueue::SubmitQueue(Sale& sale, std::size_t requests_max, bool has_thread)
    : sale_(sale), requests_max_(requests_max) {
  if (!has_thread) return;
  desk_.emplace(sale, 1, requests_max);
  thread_ = std::thread([this] { loop(); });
}

SubmitQueue::~SubmitQueue() {
  decide_all();
  stopping_ = true;
  if (sleeps_.exchange(0) == 1) futex_wake(&sleeps_);
  if (thread_.joinable()) thread_.join();
  delete_list(ready_);
  delete_list(reusable_);
}

bool SubmitQueue::submit(BuyRequest request, BuyCompletion completion) {
  return take(std::move(request), std::move(completion));
}
bool SubmitQueue::submit(PayRequest request, ChangeCompletion completion) {
  return take(std::move(request), std::move(completion));
}
bool SubmitQueue::submit(ChangeCall request, ChangeCompletion completion) {
  return take(std::move(request), std::move(completion));
}
bool SubmitQueue::submit(VoucherCall request, VoucherCompletion completion) {
  return take(std::move(request), std::move(completion));
}

template <class Asked, class Complete>
bool SubmitQueue::take(Asked&& request, Complete&& completion) {
  if (requests_.fetch_add(1) >= requests_max_) {
    requests_.fetch_sub(1);
    return false;
  }
  auto work = new_work();
  work->request = std::forward<Asked>(request);
  work->completion = std::forward<Complete>(completion);
  undecided_.fetch_add(1);
  submitted_.push(std::move(work));
  // The thread announces its sleep before it checks the list a last time.
  if (sleeps_.load() == 1 && sleeps_.exchange(0) == 1) futex_wake(&sleeps_);
  return true;
}

/// Returns the memory of a completed request, if no other thread is taking some.
std::unique_ptr<SubmitQueue::Work> SubmitQueue::new_work() {
  std::unique_ptr<Work> work;
  if (!is_reusing_.exchange(true)) {
    if (reusable_ == nullptr) reusable_ = unused_.take_newest_first();
    if (reusable_ != nullptr) work.reset(std::exchange(reusable_, reusable_->next));
    if (reusable_ != nullptr) prefetch(reusable_);
    is_reusing_ = false;
  }
  return work ? std::move(work) : std::make_unique<Work>();
}

std::size_t SubmitQueue::poll(std::size_t count_max) {
  if (is_polled_.exchange(true)) return 0;
  if (!thread_.joinable()) decide();
  std::size_t count = 0;
  for (Batch* batch = nullptr; count < count_max && (batch = oldest_ready()) != nullptr; ++count) {
    complete_next(*batch);
  }
  is_polled_ = false;
  return count;
}

void SubmitQueue::complete_next(Batch& batch) {
  constexpr std::size_t kPrefetchAhead = 8;
  const std::size_t at = batch.completed++;
  // The thread that decided has the requests in its cache.
  if (at + kPrefetchAhead < batch.works.size()) {
    const Work& later = *batch.works[at + kPrefetchAhead];
    prefetch(&later.completion);
    prefetch(&later.request);
  }
  std::visit([&](const auto& results) { complete(std::move(batch.works[at]), results[at]); },
             batch.results);
}

template <class Result>
void SubmitQueue::complete(std::unique_ptr<Work> work, const Result& result) {
  using Complete = absl::AnyInvocable<void(const Result&)>;
  Complete completion = std::move(std::get<Complete>(work->completion));
  unused_.push(std::move(work));
  requests_.fetch_sub(1);
  completion(result);
}

/// Returns the oldest batch with a completion that did not run; null if there is none.
SubmitQueue::Batch* SubmitQueue::oldest_ready() {
  while (ready_ != nullptr && ready_->completed == ready_->works.size()) {
    completed_.push(std::unique_ptr<Batch>(std::exchange(ready_, ready_->next)));
  }
  if (ready_ == nullptr) ready_ = decided_.take_all();
  return ready_;
}

void SubmitQueue::decide_all() {
  while (const std::size_t undecided = undecided_.load()) {
    if (thread_.joinable()) {
      undecided_.wait(undecided);
    } else if (!decide()) {
      std::this_thread::yield();  // another thread decides, or has not pushed yet
    }
  }
}

void SubmitQueue::loop() {
  name_this_thread("rg-submit");
  while (!stopping_) {
    if (decide()) continue;
    sleeps_ = 1;
    if (submitted_.is_empty() && !stopping_) futex_wait(sleeps_, 1, -1);
    sleeps_ = 0;
  }
}

/// Decides on submitted requests. Returns false if there were none, or another thread is deciding.
bool SubmitQueue::decide() {
  constexpr std::size_t kBatchMax = 1'024;
  if (is_deciding_.exchange(true)) return false;
  Work* rest = submitted_.take_all();
  const bool has_any = rest != nullptr;
  while (rest != nullptr) {
    const std::size_t kind = rest->request.index();
    Works works;
    while (rest != nullptr && rest->request.index() == kind && works.size() < kBatchMax) {
      works.emplace_back(std::exchange(rest, rest->next));
    }
    decide(std::move(works));
  }
  is_deciding_ = false;
  return has_any;
}

void SubmitQueue::decide(Works works) {
  delete_list(completed_.take_newest_first());
  if (std::holds_alternative<BuyRequest>(works.front()->request)) return buy(std::move(works));
  Results results = change(works);
  finish(std::move(works), std::move(results));
}

/// Makes the results of works known to poll().
void SubmitQueue::finish(Works works, Results results) {
  const std::size_t count = works.size();
  auto batch = std::make_unique<Batch>();
  batch->results = std::move(results);
  batch->works = std::move(works);
  decided_.push(std::move(batch));
  undecided_.fetch_sub(count);
  undecided_.notify_all();
}

/// Takes the requests of works, which are all of this kind.
template <class Wanted>
std::vector<Wanted> SubmitQueue::take_requests(const Works& works) {
  std::vector<Wanted> requests;
  requests.reserve(works.size());
  for (const auto& work : works) requests.push_back(std::move(std::get<Wanted>(work->request)));
  return requests;
}

/// Decides on purchases. Those that the order database completes finish later, on the desk's thread.
void SubmitQueue::buy(Works works) {
  std::vector<BuyRequest> requests = take_requests<BuyRequest>(works);
  if (!desk_) {
    return finish(
        std::move(works),
        decide_safely(std::span<const BuyRequest>(requests), unknown<BuyResult>(""),
                      [this](std::span<const BuyRequest> all) { return sale_.buy_all(all); }));
  }
  std::vector<BuyResult> results = desk_->decide(requests);
  Works later_works;
  std::vector<BuyRequest> later_requests;
  std::vector<BuyResult> later_results;
  std::size_t finished = 0;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (results[i].is_partial) {
      later_works.push_back(std::move(works[i]));
      later_requests.push_back(std::move(requests[i]));
      later_results.push_back(std::move(results[i]));
    } else if (finished++ != i) {
      works[finished - 1] = std::move(works[i]);
      results[finished - 1] = std::move(results[i]);
    }
  }
  works.resize(finished);
  results.resize(finished);
  if (!works.empty()) finish(std::move(works), std::move(results));
  if (later_works.empty()) return;
  desk_->complete(std::move(later_requests), std::move(later_results),
                  [this, later = std::move(later_works)](std::vector<BuyResult> completed) mutable {
                    finish(std::move(later), std::move(completed));
                  });
}

/// Decides on requests of one other kind.
SubmitQueue::Results SubmitQueue::change(const Works& works) {
  const auto& first = works.front()->request;
  if (std::holds_alternative<PayRequest>(first)) {
    const std::vector<PayRequest> requests = take_requests<PayRequest>(works);
    return decide_safely(std::span(requests), unknown<ChangeResult>(""),
                         [this](std::span<const PayRequest> all) { return sale_.pay_all(all); });
  }
  if (std::holds_alternative<ChangeCall>(first)) return call_each<ChangeResult, ChangeCall>(works);
  return call_each<absl::Status, VoucherCall>(works);
}

template <class Result, class Call>
std::vector<Result> SubmitQueue::call_each(const Works& works) {
  std::vector<Result> results;
  results.reserve(works.size());
  for (Call& call : take_requests<Call>(works)) results.push_back(call_safely<Result>(call, sale_));
  return results;
}

}  // namespace rushgate
