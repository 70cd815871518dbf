#include "engine/core/base/numbers.h"

#include <array>
#include <bit>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rushgate {

std::optional<std::int64_t> parse_long_int64(std::string_view text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  const std::string_view digits = text.front() == '-' ? text.substr(1) : text;
  if (digits.empty()) return std::nullopt;
  if (digits.front() == '0' && text.size() > 1) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_uint64(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (const auto canonical = parse_int64(text)) {
    if (*canonical < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*canonical);
  }
  return parse_wrapping_uint64(text);
}

std::optional<std::uint64_t> parse_wrapping_uint64(std::string_view text) {
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(terminated.c_str(), &end, 10);
  const bool is_number = end != terminated.c_str() && *end == '\0';
  if (!is_number || errno != 0) return std::nullopt;
  return value;
}

std::optional<long double> parse_long_double(std::string_view text) {
  constexpr std::size_t kLongestNumber = 5 * 1024;
  if (text.empty() || text.size() >= kLongestNumber) return std::nullopt;
  if (std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const long double value = std::strtold(terminated.c_str(), &end);
  if (end != terminated.c_str() + terminated.size() || std::isnan(value)) return std::nullopt;
  // The bounds are those of double, as in Redis: a subnormal long double is a number.
  const bool lost = value == HUGE_VAL || value == -HUGE_VAL || std::fpclassify(value) == FP_ZERO;
  if (errno == ERANGE && lost) return std::nullopt;
  return value;
}

namespace {

/// Parses the usual forms without the copy that strtod needs, and independently of the locale.
std::optional<double> parse_plain_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
  if (const auto plain = parse_plain_double(text)) {
    return std::isnan(*plain) ? std::nullopt : plain;
  }
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0)
    return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(terminated.c_str(), &end);
  if (end != terminated.c_str() + terminated.size() || std::isnan(value)) return std::nullopt;
  if (errno == ERANGE && (std::isinf(value) || value == 0)) return std::nullopt;
  return value;
}

std::optional<double> parse_double_bound(std::string_view text) {
  const std::string terminated(text.substr(0, text.find('\0')));
  if (const auto number = parse_double(terminated)) return number;
  char* end = nullptr;
  const double value = std::strtod(terminated.c_str(), &end);
  if (*end != '\0' || std::isnan(value)) return std::nullopt;
  return value;
}

void remove_trailing_zeros(std::string& text) {
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
}

std::string format_long_double(long double value) {
  constexpr std::size_t kLongestNumber = 5 * 1024;  // 1e4932 has fewer digits
  char buffer[kLongestNumber];
  const int size = std::snprintf(buffer, sizeof(buffer), "%.17Lf", value);
  std::string text(buffer, static_cast<std::size_t>(size));
  remove_trailing_zeros(text);
  return text == "-0" ? "0" : text;
}

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

namespace {

/// Returns the digits of a number below 100,000,000 as the values of eight bytes, the first digit in
/// the lowest byte. Works on all at once, as parse_eight_digits(): halves of four digits become
/// quarters of two, and these become digits. A product and a shift divide by 100, then by 10.
std::uint64_t eight_digits(std::uint32_t number) {
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t halves = number / 10'000 | std::uint64_t{number % 10'000} << 32;
  const std::uint64_t hundreds = (halves * 10'486 >> 20) & 0x0000'007F'0000'007F;
  const std::uint64_t quarters = hundreds | (halves - 100 * hundreds) << 16;
  const std::uint64_t tens = (quarters * 103 >> 10) & 0x000F'000F'000F'000F;
  return tens | (quarters - 10 * tens) << 8;
}

}  // namespace

DecimalText::DecimalText(std::uint64_t magnitude, bool is_negative) {
  // Digits are written from the end. std::to_chars would have to count them first.
  static constexpr auto kPairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
      pairs[2 * i] = static_cast<char>('0' + i / 10);
      pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
  }();
  constexpr std::uint32_t kBlock = 100'000'000;
  constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;
  constexpr std::ptrdiff_t kDigits = 8;
  char* begin = std::end(buffer_);
  for (; magnitude >= kBlock; magnitude /= kBlock) {
    const std::uint64_t block =
        eight_digits(static_cast<std::uint32_t>(magnitude % kBlock)) + kZeros;
    begin -= kDigits;
    std::memcpy(begin, &block, sizeof(block));
  }
  auto rest = static_cast<std::uint32_t>(magnitude);
  for (; rest >= 10; rest /= 100) {
    begin -= 2;
    std::memcpy(begin, &kPairs[std::size_t{rest % 100} * 2], 2);
  }
  if (rest > 0 || begin == std::end(buffer_)) *--begin = static_cast<char>('0' + rest);
  if (is_negative) *--begin = '-';
  begin_ = begin;
}

DoubleText::DoubleText(double value) {
  constexpr int kDigits = 17;
  const auto [end, error] =
      std::to_chars(buffer_, std::end(buffer_), value, std::chars_format::general, kDigits);
  assert(error == std::errc{});
  size_ = static_cast<std::size_t>(end - buffer_);
}

}  // namespace rushgate
