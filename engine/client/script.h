// A Lua script with its SHA-1.
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Immutable and thread-safe. Create it once, not per call.
class Script {
 public:
  /// `native_twin` names the native script with the same results (native_script.h). A backend
  /// that has a native script of this name runs it; others, such as Redis, run the Lua
  /// source.
  explicit Script(std::string text, std::string native_twin = {});

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Returns 40 lower-case hexadecimal digits, as SCRIPT LOAD does.
  [[nodiscard]] const std::string& sha1() const { return sha1_; }
  [[nodiscard]] const std::string& native_twin() const { return native_twin_; }

 private:
  std::string text_;
  std::string sha1_;
  std::string native_twin_;
};

}  // namespace rushgate
