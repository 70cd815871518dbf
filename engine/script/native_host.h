// Native scripts by name, and what they see of the keyspace while they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/client/native_script.h"
#include "engine/keyspace/database.h"
#include "engine/keyspace/hashing.h"
#include "engine/script/script_call.h"

namespace rushgate {

/// Registration is done before the engine runs; after that, for whoever has the turn.
class NativeHost {
 public:
  /// Replaces one of the same name.
  void add(std::string name, NativeScript script);

  using Entry = std::pair<const std::string, NativeScript>;
  /// Null if there is none of that name.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  [[nodiscard]] bool knows(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] std::size_t size() const { return scripts_.size(); }

  /// Runs the script on `db`. All it did is undone if it ends with an exception, which becomes the
  /// answer: the text of a ScriptError, "ERR Error running script <name>, <what>" for any other.
  static Reply run(const Entry& entry, Database& db, const ScriptCall& call);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      constexpr std::uint64_t kAnySeed = 0;
      return hash_bytes(text, kAnySeed);
    }
  };
  std::unordered_map<std::string, NativeScript, TextHash, std::equal_to<>> scripts_;
};

}  // namespace rushgate
