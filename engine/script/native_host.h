// Native scripts by name, and what they see of the keyspace while they run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/client/native_script.h"
#include "engine/keyspace/database.h"
#include "engine/keyspace/hashing.h"
#include "engine/script/script_call.h"

namespace rushgate {

/// Thread-safe, but for run(), which is for the thread that holds the turn. Scripts are added and
/// never removed, so finding one takes no lock.
class NativeHost {
 public:
  NativeHost();

  /// Adds a script; does nothing and returns false if there is one of its name.
  bool add(std::string name, NativeScript script);

  using Entry = NamedScript;
  /// Null if there is none of that name. Valid as long as the host.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  [[nodiscard]] bool knows(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::size_t size() const { return current()->size(); }

  /// Runs the script on `db`. All it did is undone if it ends with an exception, which becomes the
  /// answer: the text of a ScriptError, "ERR Error running script <name>, <what>" for any other.
  static Reply run(const Entry& entry, Database& db, const ScriptCall& call);

 private:
  struct TextHash {
    std::size_t operator()(std::string_view text) const {
      constexpr std::uint64_t kAnySeed = 0;
      return hash_bytes(text, kAnySeed);
    }
  };
  /// The names point into the entries.
  using Scripts = std::unordered_map<std::string_view, std::shared_ptr<const Entry>, TextHash>;

  [[nodiscard]] const Scripts* current() const { return current_.load(std::memory_order_acquire); }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Scripts>> all_;  // guarded by mutex_; the last one is current
  std::atomic<const Scripts*> current_;
};

}  // namespace rushgate
