// The registry of native scripts, and their interface to the keyspace.
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

#include "engine/redis/keyspace/database.h"
#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/script/script_call.h"
#include <rushgate/script.h>

namespace rushgate {

/// Thread-safe, except run(), which is for the thread that holds the turn. Scripts are never
/// removed, so lookups take no lock.
class NativeHost {
 public:
  NativeHost();

  /// Adds a script. Returns false, and does nothing, if the name is taken.
  bool add(std::string name, NativeScript script);

  using Entry = NamedScript;
  /// Returns the script; null if there is none. Valid as long as the host.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  [[nodiscard]] bool knows(std::string_view name) const { return find(name) != nullptr; }
  /// Returns true if a name differs from `name` at most in case.
  [[nodiscard]] bool knows_in_any_case(std::string_view name) const;

  /// Runs the script on `db`. An exception rolls back its changes and becomes the reply: the
  /// message of a ScriptError, else "ERR Error running script <name>, <reason>".
  static Reply run(const Entry& entry, Database& db, const ScriptCall& call);

 private:
  struct TextHash {
    std::size_t operator()(std::string_view text) const {
      constexpr std::uint64_t kAnySeed = 0;
      return hash_bytes(text, kAnySeed);
    }
  };
  /// The names are views into the entries.
  using Scripts = std::unordered_map<std::string_view, std::shared_ptr<const Entry>, TextHash>;

  [[nodiscard]] const Scripts* current() const { return current_.load(std::memory_order_acquire); }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Scripts>> all_;  // guarded by mutex_; the last one is current
  std::atomic<const Scripts*> current_;
};

}  // namespace rushgate
