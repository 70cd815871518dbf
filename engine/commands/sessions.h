// All sessions of an engine, for CLIENT LIST and CLIENT KILL.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/btree_map.h"
#include "engine/commands/session.h"
#include "engine/commands/settings.h"

namespace rushgate {

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
  void reset_counts() {
    const std::lock_guard lock(mutex_);
    begun_ = refused_ = 0;
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
  ServerSettings server_;
};

}  // namespace rushgate
