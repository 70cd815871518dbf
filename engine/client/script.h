// A Lua script as its caller holds it.
#pragma once

#include <string>
#include <string_view>

namespace rushgate {

/// Immutable; share it between threads. Create it once, not per call.
class Script {
 public:
  /// `native_twin`: the name of a native script that gives the same results (see native_script.h).
  /// Where the engine has one of this name, it runs instead of the text; elsewhere (Redis) the text
  /// runs.
  explicit Script(std::string text, std::string native_twin = {});

  [[nodiscard]] const std::string& text() const { return text_; }
  /// 40 lower-case hexadecimal digits, as SCRIPT LOAD returns them.
  [[nodiscard]] const std::string& sha1() const { return sha1_; }
  [[nodiscard]] const std::string& native_twin() const { return native_twin_; }

 private:
  std::string text_;
  std::string sha1_;
  std::string native_twin_;
};

}  // namespace rushgate
