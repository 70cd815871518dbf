// Native scripts by name, and what they see of the keyspace while they run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "engine/client/native_script.h"
#include "engine/keyspace/database.h"
#include "engine/script/script_call.h"

namespace rushgate {

/// Registration is done before the engine runs; after that, for whoever has the turn.
class NativeHost {
 public:
  /// Replaces one of the same name.
  void add(std::string name, NativeScript script);
  [[nodiscard]] bool knows(std::string_view name) const;

  /// Runs the script `name`, which must be known, on `db`. All it did is undone if it ends with an
  /// exception, which becomes the answer: the text of a ScriptError, "ERR Error running script
  /// <name>, <what>" for any other.
  Reply run(std::string_view name, Database& db, const ScriptCall& call) const;

 private:
  std::map<std::string, NativeScript, std::less<>> scripts_;
};

}  // namespace rushgate
