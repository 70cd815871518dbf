// All sessions of an engine, for CLIENT LIST and CLIENT KILL.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/redis/commands/session.h"
#include "engine/redis/commands/settings.h"

namespace rushgate {

/// The bytes that servers have read from sockets and written to them.
struct Traffic {
  std::atomic<std::uint64_t> input_bytes{0};
  std::atomic<std::uint64_t> output_bytes{0};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> writes{0};

  void note_input(std::size_t bytes) { note(bytes, input_bytes, reads); }
  void note_output(std::size_t bytes) { note(bytes, output_bytes, writes); }
  void reset() { input_bytes = output_bytes = reads = writes = 0; }

 private:
  static void note(std::size_t bytes, std::atomic<std::uint64_t>& sum,
                   std::atomic<std::uint64_t>& count) {
    sum.fetch_add(bytes, std::memory_order_relaxed);
    count.fetch_add(1, std::memory_order_relaxed);
  }
};

/// Thread-safe. The sessions themselves belong to the thread that holds the turn.
class Sessions {
 public:
  void add(std::shared_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    ++begun_;
    const std::uint64_t id = session->id;
    sessions_.emplace(id, std::move(session));
  }
  void remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(id);
  }
  /// Counts a client that was refused because there were too many.
  void note_refusal() {
    const std::lock_guard lock(mutex_);
    ++refused_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return sessions_.size();
  }

  void set_server(const ServerSettings& server) {
    const std::lock_guard lock(mutex_);
    server_ = server;
  }
  /// Returns the settings of the most recent server.
  [[nodiscard]] ServerSettings server() const {
    const std::lock_guard lock(mutex_);
    return server_;
  }

  // ---- Since reset_counts() ----
  [[nodiscard]] std::uint64_t begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  [[nodiscard]] std::uint64_t refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  [[nodiscard]] Traffic& traffic() { return traffic_; }
  void reset_counts() {
    const std::lock_guard lock(mutex_);
    begun_ = refused_ = 0;
    traffic_.reset();
  }

  /// Returns a session; null if there is none.
  [[nodiscard]] std::shared_ptr<Session> find(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second;
  }
  /// Returns all sessions in the order of their ids.
  [[nodiscard]] std::vector<std::shared_ptr<Session>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Session>> all;
    for (const auto& [id, session] : sessions_) all.push_back(session);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  absl::btree_map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::uint64_t begun_ = 0;
  std::uint64_t refused_ = 0;
  Traffic traffic_;
  ServerSettings server_;
};

}  // namespace rushgate
