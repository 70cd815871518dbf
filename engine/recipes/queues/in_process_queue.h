// A bounded queue in the memory of the process.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/lockfree/queue.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/recipes/queues/queue.h"

namespace rushgate {

/// A value type.
struct InProcessQueueOptions {
  std::size_t size_max = 10'000;  // messages that wait, up to kSizeMax; and as many taken ones
};

/// A lock-free queue. Each message goes to one of the threads that call take(). push() neither
/// waits nor sends anything.
///
/// **Delivery** is at most once. A consumer keeps its messages even if it never calls done().
///
/// **Losses**: the end of the process, or of this object, loses counts().at_risk() messages. These
/// are the waiting messages, and the taken ones that are not done. A full queue refuses messages;
/// counts().refused is their number. A purchase that was admitted and then pushed here is lost to
/// the database in both cases.
///
/// All threads may call all methods. take() blocks the thread, including its fibers, by the
/// machine's clock. So pass no waiting time in manual mode.
class InProcessQueue final : public Queue {
 public:
  static constexpr std::size_t kSizeMax = 65'534;

  struct Counts {
    std::uint64_t pushed = 0;
    std::uint64_t refused = 0;  // since the queue was full
    std::uint64_t done = 0;

    /// Returns the number of messages that a crash would lose now.
    [[nodiscard]] std::uint64_t at_risk() const { return pushed - done; }
  };

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<InProcessQueue>> create(InProcessQueueOptions options = {});
  ~InProcessQueue() override;

  absl::Status push(std::string_view body) override;
  /// Returns kResourceExhausted if size_max messages were taken and are not done.
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  /// Ends the waits of all threads.
  void interrupt() override;

  [[nodiscard]] Counts counts() const;

 private:
  struct Node {
    std::uint64_t id;
    std::string body;
  };
  using Nodes = boost::lockfree::queue<Node*, boost::lockfree::fixed_sized<true>>;

  explicit InProcessQueue(InProcessQueueOptions options);

  void take_waiting(std::size_t count_max, std::vector<QueueMessage>& messages);

  const InProcessQueueOptions options_;
  Nodes nodes_;
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::uint64_t> pushed_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> sleepers_{0};  // threads that wait, or are about to

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t interrupts_ = 0;              // guarded by mutex_
  std::uint64_t done_ = 0;                    // guarded by mutex_
  absl::flat_hash_set<std::uint64_t> taken_;  // guarded by mutex_: the ones that are not done
};

}  // namespace rushgate
