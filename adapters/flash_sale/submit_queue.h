// Requests of threads that must not block: purchases, payments and other calls of the sale. They are
// submitted, decided elsewhere, and completed by poll().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "adapters/flash_sale/purchase_desk.h"
#include <rushgate/flash_sale.h>
#include <rushgate/sale.h>

namespace rushgate {

/// A call of the sale that changes one order.
using ChangeCall = absl::AnyInvocable<ChangeResult(Sale& sale)>;
/// A call of the sale that changes a voucher.
using VoucherCall = absl::AnyInvocable<absl::Status(Sale& sale)>;

/// Thread-safe. Its lists are lock-free: no thread waits for another one in submit() or poll().
/// Does not own the sale, which must outlive it.
class SubmitQueue {
 public:
  /// Creates a queue of at most `requests_max` requests without a completion. With `has_thread`
  /// its own thread decides them. Without, poll() and decide_all() do.
  SubmitQueue(Sale& sale, std::size_t requests_max, bool has_thread);
  /// Waits until all submitted requests are decided. Drops the completions that did not run.
  ~SubmitQueue();
  SubmitQueue(const SubmitQueue&) = delete;
  SubmitQueue& operator=(const SubmitQueue&) = delete;

  /// Takes a request and returns at once. Returns false, and drops `completion`, if the queue is
  /// full. Requests of one thread are decided in order, except for purchases that the order database
  /// completes: with a thread, later requests do not wait for them.
  bool submit(BuyRequest request, BuyCompletion completion);
  bool submit(PayRequest request, ChangeCompletion completion);
  bool submit(ChangeCall request, ChangeCompletion completion);
  bool submit(VoucherCall request, VoucherCompletion completion);

  /// Runs up to `count_max` completions on the calling thread, in the order of the results.
  /// Returns how many. Returns 0 if poll() is running on another thread or in a completion.
  std::size_t poll(std::size_t count_max);

  /// Blocks until all earlier requests are decided.
  void decide_all();

 private:
  struct Work {
    std::variant<BuyCompletion, ChangeCompletion, VoucherCompletion> completion;
    Work* next = nullptr;
    std::variant<BuyRequest, PayRequest, ChangeCall, VoucherCall> request;
  };
  using Works = std::vector<std::unique_ptr<Work>>;
  using Results =
      std::variant<std::vector<BuyResult>, std::vector<ChangeResult>, std::vector<absl::Status>>;

  /// Requests of one kind that were decided together, with their results.
  struct Batch {
    Works works;
    Results results;
    std::size_t completed = 0;
    Batch* next = nullptr;
  };

  /// The threads that submit and the thread that decides write different cache lines.
  static constexpr std::size_t kCacheLineBytes = 64;

  /// A list to which any thread appends. One thread at a time empties it.
  template <class Node>
  class alignas(kCacheLineBytes) List {
   public:
    List() = default;
    ~List() { clear(); }
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    void push(std::unique_ptr<Node> node);
    /// Returns the newest node, with the others linked after it. Returns null if there is none.
    Node* take_newest_first() { return newest_.exchange(nullptr); }
    /// The same with the oldest node first.
    Node* take_all();
    [[nodiscard]] bool is_empty() const { return newest_.load() == nullptr; }

   private:
    void clear();

    std::atomic<Node*> newest_{nullptr};
  };

  template <class Asked, class Complete>
  bool take(Asked&& request, Complete&& completion);
  template <class Result>
  void complete(std::unique_ptr<Work> work, const Result& result);
  void complete_next(Batch& batch);
  void loop();
  bool decide();
  void decide(Works works);
  void buy(Works works);
  void finish(Works works, Results results);
  template <class Wanted>
  static std::vector<Wanted> take_requests(const Works& works);
  template <class Result, class Call>
  std::vector<Result> call_each(const Works& works);
  Results change(const Works& works);
  Batch* oldest_ready();
  std::unique_ptr<Work> new_work();

  Sale& sale_;
  const std::size_t requests_max_;
  List<Work> submitted_;
  List<Batch> decided_;
  // Memory goes back to the side that allocated it: a thread that submits or polls in each frame
  // then neither allocates nor frees.
  List<Work> unused_;
  List<Batch> completed_;
  alignas(kCacheLineBytes) std::atomic<std::size_t> requests_{0};  // not completed
  std::atomic<bool> is_polled_{false};                             // guards the next member
  Batch* ready_ = nullptr;                                         // decided, the oldest first
  std::atomic<bool> is_reusing_{false};                            // guards the next member
  Work* reusable_ = nullptr;
  alignas(kCacheLineBytes) std::atomic<std::size_t> undecided_{0};
  std::atomic<bool> is_deciding_{false};  // without a thread: one caller at a time
  std::atomic<std::uint32_t> sleeps_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  std::optional<PurchaseDesk> desk_;  // if there is a thread; its own threads end first
};

}  // namespace rushgate
