// A string: any bytes; kept as a number while it is one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/numbers.h"

namespace rushgate {

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

  [[nodiscard]] bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (!is_integer()) return std::nullopt;
    return std::get<std::int64_t>(value_);
  }
  [[nodiscard]] std::string bytes() const {
    if (const auto number = integer()) return std::string(DecimalText(*number).view());
    return std::get<std::string>(value_);
  }
  /// Only of one that is not a number.
  [[nodiscard]] const std::string& text() const { return std::get<std::string>(value_); }

 private:
  std::variant<std::int64_t, std::string> value_ = std::int64_t{0};
};

}  // namespace rushgate
