#include "engine/rdb/ziplist.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/numbers.h"
#include "engine/rdb/little_endian.h"

namespace rushgate::rdb {
namespace {

constexpr std::size_t kHeaderBytes = 10;
constexpr std::size_t kTailAt = 4;
constexpr std::size_t kCountAt = 8;
constexpr char kEnd = '\xff';
constexpr std::size_t kUnknownCount = 65535;

constexpr unsigned kLongSize = 254;  // of the element before
constexpr unsigned kString14 = 0x40;
constexpr unsigned kString32 = 0x80;
constexpr unsigned kFormMask = 0xc0;  // of a string
constexpr unsigned kLengthMask = 0x3f;
constexpr unsigned kSmallMin = 0xf1;
constexpr unsigned kSmallMax = 0xfd;

struct IntegerForm {
  unsigned head;
  std::size_t bytes;
};
constexpr std::array<IntegerForm, 5> kIntegers = {
    {{0xc0, 2}, {0xd0, 4}, {0xe0, 8}, {0xf0, 3}, {0xfe, 1}}};

std::string decimal(std::int64_t value) { return std::string(DecimalText(value).view()); }

/// Reads the elements. After an error everything reads as 0 or empty.
class ElementReader {
 public:
  explicit ElementReader(std::string_view elements) : rest_(elements) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }
  /// Returns the size of the last element that was read.
  [[nodiscard]] std::size_t last_size() const { return last_size_; }

  std::string next() {
    const std::size_t before = rest_.size();
    const unsigned size = byte();
    if ((size == kLongSize ? number(take(sizeof(std::uint32_t))) : size) != last_size_) fail();
    std::string element = read_element();
    last_size_ = before - rest_.size();
    return element;
  }

 private:
  void fail() {
    ok_ = false;
    rest_ = {};
  }
  std::string_view take(std::size_t bytes) {
    if (bytes > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  unsigned byte() {
    const std::string_view taken = take(1);
    return taken.empty() ? 0 : static_cast<std::uint8_t>(taken.front());
  }
  /// Returns a little-endian number.
  static std::uint64_t number(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    return value;
  }
  /// Returns a signed little-endian number.
  static std::int64_t signed_number(std::string_view bytes) {
    if (bytes.empty()) return 0;
    const std::size_t unused_bits = 8 * (sizeof(std::uint64_t) - bytes.size());
    return static_cast<std::int64_t>(number(bytes) << unused_bits) >> unused_bits;
  }

  std::string read_element() {
    const unsigned head = byte();
    if (head < kString14) return std::string(take(head));
    if ((head & kFormMask) == kString14) {
      return std::string(take((head & kLengthMask) << 8 | byte()));
    }
    if (head == kString32) {
      std::size_t size = 0;
      for (const char c : take(sizeof(std::uint32_t)))
        size = size << 8 | static_cast<std::uint8_t>(c);
      return std::string(take(size));
    }
    if (head >= kSmallMin && head <= kSmallMax) return decimal(head - kSmallMin);
    for (const IntegerForm& form : kIntegers) {
      if (form.head == head) return decimal(signed_number(take(form.bytes)));
    }
    fail();
    return {};
  }

  std::string_view rest_;
  std::size_t last_size_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::vector<std::string>> read_ziplist(std::string_view bytes) {
  if (bytes.size() <= kHeaderBytes || bytes.back() != kEnd ||
      load_little_endian<std::uint32_t>(bytes) != bytes.size()) {
    return std::nullopt;
  }
  const auto tail = load_little_endian<std::uint32_t>(bytes.substr(kTailAt));
  const std::size_t count = load_little_endian<std::uint16_t>(bytes.substr(kCountAt));
  ElementReader reader(bytes.substr(kHeaderBytes, bytes.size() - kHeaderBytes - 1));
  std::vector<std::string> elements;
  while (!reader.at_end()) elements.push_back(reader.next());
  const std::size_t last_at = bytes.size() - 1 - reader.last_size();
  if (!reader.ok() || tail != last_at) return std::nullopt;
  if (count != kUnknownCount && count != elements.size()) return std::nullopt;
  return elements;
}

}  // namespace rushgate::rdb
