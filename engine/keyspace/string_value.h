// A string: any bytes; stored as an integer while it is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/heap.h"
#include "engine/base/numbers.h"

namespace rushgate {

/// The encoding of a string in OBJECT ENCODING.
enum class StringEncoding : std::uint8_t {
  kInt,
  kEmbstr,  // a short string
  kRaw,     // a long string, or one edited in place
};

class StringValue {
 public:
  explicit StringValue(std::int64_t integer) : value_(integer) {}
  explicit StringValue(std::string_view bytes) {
    if (const auto integer = parse_int64(bytes)) {
      value_ = *integer;
    } else {
      value_ = std::string(bytes);
    }
  }

  /// Creates a value that stays a string, even if it shows an integer, as commands on floats do.
  static StringValue as_text(std::string text) {
    StringValue value(std::int64_t{0});
    value.value_ = Text{std::move(text), false};
    return value;
  }
  /// As as_text(), for changes by edit().
  static StringValue as_buffer(std::string text) {
    StringValue value(std::int64_t{0});
    value.value_ = Text{std::move(text), true};
    return value;
  }

  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  /// Returns the integer; empty if it is not one.
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (is_integer()) return std::get<std::int64_t>(value_);
    if (const auto* made = std::get_if<Text>(&value_)) return parse_int64(made->text);
    return std::nullopt;
  }
  [[nodiscard]] std::string bytes() const {
    if (is_integer()) return std::string(DecimalText(std::get<std::int64_t>(value_)).view());
    return text();
  }
  /// is_integer() must be false.
  [[nodiscard]] const std::string& text() const {
    if (const auto* text = std::get_if<std::string>(&value_)) return *text;
    return std::get<Text>(value_).text;
  }
  [[nodiscard]] std::size_t size() const {
    return is_integer() ? DecimalText(std::get<std::int64_t>(value_)).view().size() : text().size();
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const { return is_integer() ? 0 : heap_bytes(text()); }
  [[nodiscard]] std::size_t measured_bytes() const { return memory_bytes(); }

  [[nodiscard]] bool is_buffer() const {
    const auto* made = std::get_if<Text>(&value_);
    return made != nullptr && made->is_buffer;
  }
  /// is_buffer() must be true.
  [[nodiscard]] std::string& edit() { return std::get<Text>(value_).text; }

  [[nodiscard]] StringEncoding encoding() const {
    constexpr std::size_t kEmbstrBytesMax = 44;
    if (is_integer()) return StringEncoding::kInt;
    if (is_buffer() || text().size() > kEmbstrBytesMax) return StringEncoding::kRaw;
    return StringEncoding::kEmbstr;
  }

 private:
  /// A string that is kept as one. (Other strings show no integer.)
  struct Text {
    std::string text;
    bool is_buffer;
  };

  std::variant<std::int64_t, std::string, Text> value_ = std::int64_t{0};
};

}  // namespace rushgate
