#include "engine/redis/rdb/ziplist.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/core/base/numbers.h"
#include "engine/redis/rdb/byte_cursor.h"
#include "engine/redis/rdb/little_endian.h"

namespace rushgate::rdb {
namespace {

constexpr std::size_t kZiplistHeaderBytes = 10;
constexpr std::size_t kTailAt = 4;
constexpr std::size_t kZiplistCountAt = 8;
constexpr char kZiplistEnd = '\xff';
constexpr std::size_t kUnknownZiplistCount = 65535;

constexpr unsigned kLongSize = 254;  // of the element before
constexpr unsigned kString14 = 0x40;
constexpr unsigned kZiplistString32 = 0x80;
constexpr unsigned kFormMask = 0xc0;  // of a string
constexpr unsigned kLengthMask = 0x3f;
constexpr unsigned kSmallMin = 0xf1;
constexpr unsigned kSmallMax = 0xfd;

struct ZiplistIntegerForm {
  unsigned head;
  std::size_t bytes;
};
constexpr std::array<ZiplistIntegerForm, 5> kZiplistIntegers = {
    {{0xc0, 2}, {0xd0, 4}, {0xe0, 8}, {0xf0, 3}, {0xfe, 1}}};

std::string decimal(std::int64_t value) { return std::string(DecimalText(value).view()); }

/// Reads the elements. After an error everything reads as 0 or empty.
class ElementReader {
 public:
  explicit ElementReader(std::string_view elements) : in_(elements) {}

  [[nodiscard]] bool at_end() const { return in_.empty(); }
  [[nodiscard]] bool ok() const { return in_.ok(); }
  /// Returns the size of the last element that was read.
  [[nodiscard]] std::size_t last_size() const { return last_size_; }

  std::string next() {
    const std::size_t before = in_.left();
    std::uint64_t size = in_.byte();
    if (size == kLongSize) size = in_.little_endian(sizeof(std::uint32_t));
    if (size != last_size_) in_.fail();
    std::string element = read_element();
    last_size_ = before - in_.left();
    return element;
  }

 private:
  std::string read_element() {
    const unsigned head = in_.byte();
    if (head < kString14) return std::string(in_.take(head));
    if ((head & kFormMask) == kString14) {
      return std::string(in_.take((head & kLengthMask) << 8 | in_.byte()));
    }
    if (head == kZiplistString32) {
      return std::string(in_.take(in_.big_endian(sizeof(std::uint32_t))));
    }
    if (head >= kSmallMin && head <= kSmallMax) return decimal(head - kSmallMin);
    for (const ZiplistIntegerForm& form : kZiplistIntegers) {
      if (form.head == head) return decimal(in_.signed_little_endian(form.bytes));
    }
    in_.fail();
    return {};
  }

  ByteCursor in_;
  std::size_t last_size_ = 0;
};

}  // namespace

std::optional<std::vector<std::string>> read_ziplist(std::string_view bytes) {
  if (bytes.size() <= kZiplistHeaderBytes || bytes.back() != kZiplistEnd ||
      load_little_endian<std::uint32_t>(bytes) != bytes.size()) {
    return std::nullopt;
  }
  const auto tail = load_little_endian<std::uint32_t>(bytes.substr(kTailAt));
  const std::size_t count = load_little_endian<std::uint16_t>(bytes.substr(kZiplistCountAt));
  ElementReader reader(bytes.substr(kZiplistHeaderBytes, bytes.size() - kZiplistHeaderBytes - 1));
  std::vector<std::string> elements;
  while (!reader.at_end()) elements.push_back(reader.next());
  const std::size_t last_at = bytes.size() - 1 - reader.last_size();
  if (!reader.ok() || tail != last_at) return std::nullopt;
  if (count != kUnknownZiplistCount && count != elements.size()) return std::nullopt;
  return elements;
}

}  // namespace rushgate::rdb
