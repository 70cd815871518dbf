// A string: any bytes; stored as an integer while it is one. Short strings need no memory on the
// heap.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"

namespace rushgate {

/// The encoding of a string in OBJECT ENCODING.
enum class StringEncoding : std::uint8_t {
  kInt,
  kEmbstr,  // a short string
  kRaw,     // a long string, or one edited in place
};

class StringValue {
 public:
  explicit StringValue(std::int64_t integer) { store(integer); }
  explicit StringValue(std::string_view bytes) {
    if (const auto integer = parse_int64(bytes)) {
      store(*integer);
    } else {
      hold(bytes);
    }
  }

  /// Creates a value that stays a string, even if it shows an integer, as commands on floats do.
  static StringValue as_text(std::string_view text) {
    StringValue value(std::int64_t{0});
    value.hold(text);
    value.data_.may_show_integer = true;
    return value;
  }
  /// As as_text(), for changes by edit().
  static StringValue as_buffer(std::string text) {
    StringValue value(std::int64_t{0});
    value.store(std::make_unique<std::string>(std::move(text)).release());
    value.data_.form = Form::kBuffer;
    value.data_.may_show_integer = true;
    return value;
  }

  StringValue(const StringValue& other);
  StringValue(StringValue&& other) noexcept { take(other); }
  StringValue& operator=(StringValue&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  StringValue& operator=(const StringValue&) = delete;
  ~StringValue() { release(); }

  [[nodiscard]] bool is_integer() const { return data_.form == Form::kInteger; }
  /// Returns the integer; empty if it is not one.
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (is_integer()) return load<std::int64_t>();
    return data_.may_show_integer ? parse_int64(text()) : std::nullopt;
  }
  [[nodiscard]] std::string bytes() const {
    if (is_integer()) return std::string(DecimalText(load<std::int64_t>()).view());
    return std::string(text());
  }
  /// is_integer() must be false. Valid until the value is moved or changed.
  [[nodiscard]] std::string_view text() const {
    assert(!is_integer());
    if (data_.form == Form::kInline) return {data_.place.data(), data_.inline_size};
    if (is_buffer()) return *load<std::string*>();
    return {load<const char*>(), block_size()};
  }
  [[nodiscard]] std::size_t size() const {
    return is_integer() ? DecimalText(load<std::int64_t>()).view().size() : text().size();
  }

  /// Returns the memory on the heap.
  [[nodiscard]] std::size_t memory_bytes() const {
    if (data_.form == Form::kBlock) return heap_block(block_size());
    if (!is_buffer()) return 0;
    return heap_block(sizeof(std::string)) + heap_bytes(*load<std::string*>());
  }
  [[nodiscard]] std::size_t measured_bytes() const { return memory_bytes(); }

  [[nodiscard]] bool is_buffer() const { return data_.form == Form::kBuffer; }
  /// is_buffer() must be true.
  [[nodiscard]] std::string& edit() {
    assert(is_buffer());
    return *load<std::string*>();
  }

  [[nodiscard]] StringEncoding encoding() const {
    constexpr std::size_t kEmbstrBytesMax = 44;
    if (is_integer()) return StringEncoding::kInt;
    if (is_buffer() || text().size() > kEmbstrBytesMax) return StringEncoding::kRaw;
    return StringEncoding::kEmbstr;
  }

 private:
  enum class Form : std::uint8_t {
    kInteger,
    kInline,  // a string in its place
    kBlock,   // a string on the heap: a pointer of 8 bytes to its bytes, and its size in 7
    kBuffer,  // a pointer to a std::string
  };
  static constexpr std::size_t kPlaceBytes = 15;

  template <class T>
  void store(T value) {
    std::memcpy(data_.place.data(), &value, sizeof(value));
  }
  template <class T>
  [[nodiscard]] T load() const {
    T value;
    std::memcpy(&value, data_.place.data(), sizeof(value));
    return value;
  }
  [[nodiscard]] std::size_t block_size() const {
    static_assert(std::endian::native == std::endian::little);
    std::size_t size = 0;
    std::memcpy(&size, data_.place.data() + sizeof(char*), kPlaceBytes - sizeof(char*));
    return size;
  }

  void hold(std::string_view text);
  void take(StringValue& other) { data_ = std::exchange(other.data_, Data()); }
  void release() {
    if (data_.form >= Form::kBlock) free_heap();
  }
  void free_heap();

  struct Data {
    alignas(std::int64_t) std::array<char, kPlaceBytes> place{};
    Form form : 2 = Form::kInteger;
    bool may_show_integer : 1 = false;  // a string that is kept as one
    std::uint8_t inline_size : 4 = 0;
  };
  Data data_;
};
static_assert(sizeof(StringValue) == 16);

}  // namespace rushgate
