// Purchases of threads that must not block. They are submitted, decided elsewhere, and completed by
// poll().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <rushgate/flash_sale.h>
#include <rushgate/sale.h>

namespace rushgate {

/// Thread-safe. Its lists are lock-free: no thread waits for another one in submit() or poll().
/// Does not own the sale, which must outlive it.
class BuyQueue {
 public:
  /// Creates a queue of at most `purchases_max` purchases without a completion. With `has_thread`
  /// its own thread decides them. Without, poll() and decide_all() do.
  BuyQueue(Sale& sale, std::size_t purchases_max, bool has_thread);
  /// Waits until all submitted purchases are decided. Drops the completions that did not run.
  ~BuyQueue();
  BuyQueue(const BuyQueue&) = delete;
  BuyQueue& operator=(const BuyQueue&) = delete;

  /// Takes a purchase and returns at once. Returns false, and drops `completion`, if the queue is
  /// full.
  bool submit(BuyRequest request, BuyCompletion completion);

  /// Runs up to `count_max` completions on the calling thread, in the order of the decisions.
  /// Returns how many. Returns 0 if poll() is running on another thread or in a completion.
  std::size_t poll(std::size_t count_max);

  /// Blocks until all earlier purchases are decided.
  void decide_all();

 private:
  struct Purchase {
    BuyCompletion completion;
    Purchase* next = nullptr;
    BuyRequest request;
  };

  /// Purchases that were decided together, with their results.
  struct Batch {
    std::vector<std::unique_ptr<Purchase>> purchases;
    std::vector<BuyResult> results;
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
    ~List();
    List(const List&) = delete;
    List& operator=(const List&) = delete;

    void push(std::unique_ptr<Node> node);
    /// Returns the newest node, with the others linked after it. Returns null if there is none.
    Node* take_newest_first() { return newest_.exchange(nullptr); }
    /// The same with the oldest node first.
    Node* take_all();
    [[nodiscard]] bool is_empty() const { return newest_.load() == nullptr; }

   private:
    std::atomic<Node*> newest_{nullptr};
  };

  void loop();
  bool decide();
  void decide(std::vector<std::unique_ptr<Purchase>> purchases);
  Batch* oldest_ready();
  std::unique_ptr<Purchase> new_purchase();

  Sale& sale_;
  const std::size_t purchases_max_;
  List<Purchase> submitted_;
  List<Batch> decided_;
  // Memory goes back to the side that allocated it: a thread that submits or polls in each frame
  // then neither allocates nor frees.
  List<Purchase> unused_;
  List<Batch> completed_;
  alignas(kCacheLineBytes) std::atomic<std::size_t> purchases_{0};  // not completed
  std::atomic<bool> is_polled_{false};                              // guards the next member
  Batch* ready_ = nullptr;                                          // decided, the oldest first
  std::atomic<bool> is_reusing_{false};                             // guards the next member
  Purchase* reusable_ = nullptr;
  alignas(kCacheLineBytes) std::atomic<std::size_t> undecided_{0};
  std::atomic<bool> is_deciding_{false};  // without a thread: one caller at a time
  std::atomic<std::uint32_t> sleeps_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace rushgate
