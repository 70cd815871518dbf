// Threads that decide on requests of Redis clients, batch by batch.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <rushgate/program_commands.h>

namespace rushgate {

/// Requests that one client sent in a row, all of one command.
struct ClientBatch {
  std::size_t command = 0;
  int database = 0;                        // of the client
  std::span<const Request> requests = {};  // until the completion is called
  ProgramCommands::Completion completion;
};

/// Batches of several clients that wait are decided together. Thread-safe.
class RequestLane {
 public:
  /// Decides on all batches and calls their completions. Must not throw.
  using Decide = std::function<void(std::vector<ClientBatch> batches)>;

  /// Takes batches until they have `together_max` requests, or the last one exceeds it. Each thread
  /// begins with `name_thread`.
  RequestLane(int threads, std::size_t waiting_max, std::size_t together_max, void (*name_thread)(),
              Decide decide);
  /// Decides on all waiting batches first.
  ~RequestLane();
  RequestLane(const RequestLane&) = delete;
  RequestLane& operator=(const RequestLane&) = delete;

  /// The most bytes of requests that wait: their clients may have left.
  static constexpr std::size_t kBytesMax = std::size_t{64} * 1'024 * 1'024;

  /// Takes a batch. If too many requests or bytes wait, each of its requests gets the reply
  /// "OVERLOADED too many <requests> wait".
  void submit(ClientBatch batch, std::string_view requests);

 private:
  [[nodiscard]] bool enqueue(ClientBatch& batch);
  void loop(void (*name_thread)());
  std::vector<ClientBatch> take();

  const std::size_t waiting_max_;
  const std::size_t together_max_;
  const Decide decide_;
  std::mutex mutex_;  // guards the next four members
  std::deque<ClientBatch> waiting_;
  std::size_t requests_ = 0;  // of waiting_
  std::size_t bytes_ = 0;     // of these requests
  bool is_stopping_ = false;
  std::condition_variable has_batches_;
  std::vector<std::thread> threads_;
};

}  // namespace rushgate
