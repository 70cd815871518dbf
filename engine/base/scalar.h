// A byte string, and the integer that it shows, if it shows one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "engine/base/numbers.h"

namespace rushgate {

/// A view, which the text must outlive. Whoever gets a text first looks at it once, however many
/// keep it as an integer after that. Implicit, since every text is one.
class Scalar {
 public:
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view> Scalar(const Text& text)
      : Scalar(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
  Scalar(std::string_view text) : text_(text) {  // NOLINT(google-explicit-constructor)
    const std::optional<std::int64_t> integer = parse_int64(text);
    is_integer_ = integer.has_value();
    integer_ = integer.value_or(0);
  }

  Scalar() = default;

  [[nodiscard]] std::string_view text() const { return text_; }
  /// Is the text an integer in canonical decimal form?
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  /// 0 if it is none.
  [[nodiscard]] std::int64_t integer() const { return integer_; }

 private:
  std::string_view text_;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

}  // namespace rushgate
