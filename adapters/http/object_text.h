// Objects of JSON as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "adapters/http/problem.h"

namespace rushgate::http {

/// Writes the members of an object one after the other. Takes about a tenth of the time of a Json: for
/// the replies to purchases. Strings may have any bytes: invalid UTF-8 is replaced.
class ObjectText {
 public:
  ObjectText& add_text(std::string_view name, std::string_view text);
  /// Writes a number beyond 2^53 as a string.
  ObjectText& add_number(std::string_view name, std::int64_t number);
  ObjectText& add_json(std::string_view name, const Json& value);
  /// Returns the text, which ends with a line end.
  [[nodiscard]] std::string finish() &&;

 private:
  void begin_member(std::string_view name);

  std::string text_ = "{";
};

}  // namespace rushgate::http
