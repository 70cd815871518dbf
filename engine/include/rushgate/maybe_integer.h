// A byte string with its integer value, if it is an integer.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace rushgate {

/// A view; the string must outlive it. Parses the string once, so later code need not parse it
/// again. Converts implicitly from strings.
class MaybeInteger {
 public:
  template <class Text>
  requires std::is_convertible_v<const Text&, std::string_view> MaybeInteger(const Text& text)
      : MaybeInteger(std::string_view(text)) {}        // NOLINT(google-explicit-constructor)
  MaybeInteger(std::string_view text) : text_(text) {  // NOLINT(google-explicit-constructor)
    parse();
  }

  MaybeInteger() = default;

  [[nodiscard]] std::string_view text() const { return text_; }
  /// Returns true if the string is an integer in canonical decimal form.
  [[nodiscard]] bool is_integer() const { return is_integer_; }
  /// Returns the integer; 0 if the string is not one.
  [[nodiscard]] std::int64_t integer() const { return integer_; }

 private:
  void parse();

  std::string_view text_;
  std::int64_t integer_ = 0;
  bool is_integer_ = false;
};

}  // namespace rushgate
