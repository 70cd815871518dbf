// Concatenation of strings and integers. absl::StrCat() of Debian 12 takes no std::string_view, so it is
// used only for hexadecimal numbers.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace rushgate {

/// A parameter of concat(): a view of a string, or an integer in decimal.
class ConcatPart {
 public:
  constexpr ConcatPart() : digits_() {}
  // NOLINTBEGIN(google-explicit-constructor): a call of concat() makes them.
  ConcatPart(const char* text) : text_(text) {}
  ConcatPart(std::string_view text) : text_(text) {}
  ConcatPart(const std::string& text) : text_(text) {}
  ConcatPart(std::signed_integral auto value) { write(static_cast<std::int64_t>(value)); }
  ConcatPart(std::unsigned_integral auto value) { write(static_cast<std::uint64_t>(value)); }
  /// Other classes of strings, such as absl's string_view of Debian 12.
  template <class Text>
  requires std::is_class_v<Text> ConcatPart(const Text& text) {
    if constexpr (requires { std::string_view(text.data(), text.size()); }) {
      text_ = {text.data(), text.size()};
    } else {
      text_ = text;
    }
  }
  // NOLINTEND(google-explicit-constructor)
  ConcatPart(const ConcatPart&) = delete;
  ConcatPart& operator=(const ConcatPart&) = delete;

  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  void write(std::int64_t value);
  void write(std::uint64_t value);

  char digits_[20];
  std::string_view text_;
};

inline constexpr ConcatPart kNoPart;

/// Returns concat("user ", 5, " of ", name) as one string. Not a template, since the compiler would make
/// another function for each combination of types, and for each length of a literal.
std::string concat(const ConcatPart& part, const ConcatPart& part2 = kNoPart,
                   const ConcatPart& part3 = kNoPart, const ConcatPart& part4 = kNoPart,
                   const ConcatPart& part5 = kNoPart, const ConcatPart& part6 = kNoPart,
                   const ConcatPart& part7 = kNoPart, const ConcatPart& part8 = kNoPart);

template <class... Parts>
std::string concat(const ConcatPart& part, const ConcatPart& part2, const ConcatPart& part3,
                   const ConcatPart& part4, const ConcatPart& part5, const ConcatPart& part6,
                   const ConcatPart& part7, const ConcatPart& part8, const ConcatPart& part9,
                   const Parts&... parts) {
  std::string all = concat(part, part2, part3, part4, part5, part6, part7, part8);
  return all.append(concat(part9, parts...));
}

}  // namespace rushgate
