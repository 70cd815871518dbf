#include "engine/redis/rdb/listpack.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/core/base/numbers.h"
#include "engine/redis/rdb/little_endian.h"
#include <rushgate/maybe_integer.h>

namespace rushgate::rdb {
namespace {

constexpr std::size_t kListpackHeaderBytes = 6;
constexpr std::size_t kListpackCountAt = 4;
constexpr char kListpackEnd = '\xff';
constexpr std::size_t kUnknownListpackCount = 65535;

// ---- The first bytes of elements: the prefix, and the bits that it leaves for the value ----

struct PrefixForm {
  unsigned prefix;
  unsigned value_mask;

  [[nodiscard]] bool matches(unsigned head) const { return (head & ~value_mask) == prefix; }
};
constexpr PrefixForm kInteger7 = {0b0000'0000, 0x7f};
constexpr PrefixForm kString6 = {0b1000'0000, 0x3f};
constexpr PrefixForm kInteger13 = {0b1100'0000, 0x1f};
constexpr PrefixForm kString12 = {0b1110'0000, 0x0f};
constexpr unsigned kListpackString32 = 0xf0;

struct ListpackIntegerForm {
  unsigned head;
  std::size_t bytes;
};
constexpr std::array<ListpackIntegerForm, 4> kListpackIntegers = {
    {{0xf1, 2}, {0xf2, 3}, {0xf3, 4}, {0xf4, 8}}};

constexpr std::int64_t kInteger13Min = -4096;
constexpr std::int64_t kInteger13Max = 4095;

/// Appends the size of an element. For the greatest size of each length but the first, Redis writes
/// a byte more than needed.
void append_size(std::string& out, std::size_t size) {
  constexpr std::size_t kBits = 7;
  constexpr unsigned kMask = 0x7f;
  constexpr unsigned kMore = 0x80;
  constexpr std::size_t kBytesMax = 5;
  std::size_t bytes = size > kMask ? 2 : 1;
  while (bytes > 1 && bytes < kBytesMax && size + 1 >= std::size_t{1} << kBits * bytes) ++bytes;
  for (std::size_t i = bytes; i-- > 0;) {
    const std::size_t bits = size >> kBits * i & kMask;
    out.push_back(static_cast<char>(i + 1 == bytes ? bits : bits | kMore));
  }
}

/// Returns true if `value` fits in so many bytes.
bool fits(std::int64_t value, std::size_t bytes) {
  if (bytes == sizeof(value)) return true;
  const std::int64_t bound = std::int64_t{1} << (8 * bytes - 1);
  return value >= -bound && value < bound;
}

void append_bytes(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (; bytes > 0; --bytes, value >>= 8) out.push_back(static_cast<char>(value));
}

}  // namespace

std::string text_of(const ListpackElement& element) {
  if (const auto* const integer = std::get_if<std::int64_t>(&element)) {
    return std::string(DecimalText(*integer).view());
  }
  return std::string(std::get<std::string_view>(element));
}

// ---- Reading ----

ListpackReader::ListpackReader(std::string_view bytes) {
  if (bytes.size() <= kListpackHeaderBytes || bytes.back() != kListpackEnd ||
      load_little_endian<std::uint32_t>(bytes) != bytes.size()) {
    fail();
    return;
  }
  announced_ = load_little_endian<std::uint16_t>(bytes.substr(kListpackCountAt));
  elements_ =
      ByteCursor(bytes.substr(kListpackHeaderBytes, bytes.size() - kListpackHeaderBytes - 1));
  if (at_end()) check_count();
}

ListpackElement ListpackReader::fail() {
  elements_.fail();
  return std::int64_t{0};
}

void ListpackReader::check_count() {
  if (announced_ != kUnknownListpackCount && announced_ != count_) fail();
}

ListpackElement ListpackReader::read_element() {
  const unsigned head = elements_.byte();
  if (kInteger7.matches(head)) return std::int64_t{head};
  if (kString6.matches(head)) return elements_.take(head & kString6.value_mask);
  if (kInteger13.matches(head)) {
    const auto value = std::int64_t{(head & kInteger13.value_mask) << 8 | elements_.byte()};
    return value > kInteger13Max ? value - (kInteger13Max - kInteger13Min + 1) : value;
  }
  if (kString12.matches(head))
    return elements_.take((head & kString12.value_mask) << 8 | elements_.byte());
  if (head == kListpackString32) {
    const std::uint64_t size = elements_.little_endian(sizeof(std::uint32_t));
    return ok() ? ListpackElement(elements_.take(size)) : fail();
  }
  for (const ListpackIntegerForm& form : kListpackIntegers) {
    if (form.head == head) return elements_.signed_little_endian(form.bytes);
  }
  return fail();
}

ListpackElement ListpackReader::next() {
  const std::size_t before = elements_.left();
  const ListpackElement element = read_element();
  std::string size;
  append_size(size, before - elements_.left());
  if (!ok() || elements_.take(size.size()) != size) return fail();
  ++count_;
  if (at_end()) check_count();
  return ok() ? element : fail();
}

std::int64_t ListpackReader::next_integer() {
  const ListpackElement element = next();
  if (const auto* const integer = std::get_if<std::int64_t>(&element)) return *integer;
  return std::get<std::int64_t>(fail());
}

std::optional<std::vector<std::string>> read_listpack(std::string_view bytes) {
  ListpackReader reader(bytes);
  std::vector<std::string> elements;
  while (!reader.at_end()) elements.push_back(reader.next_text());
  if (!reader.ok()) return std::nullopt;
  return elements;
}

// ---- Writing ----

void ListpackWriter::append(std::string_view text) {
  if (const auto integer = parse_int64(text)) return append(*integer);
  const std::size_t begin = elements_.size();
  if (text.size() <= kString6.value_mask) {
    append_bytes(elements_, kString6.prefix | text.size(), 1);
  } else if (text.size() < std::size_t{kString12.value_mask + 1} << 8) {
    append_bytes(elements_, kString12.prefix | text.size() >> 8, 1);
    append_bytes(elements_, text.size(), 1);
  } else {
    append_bytes(elements_, kListpackString32, 1);
    append_bytes(elements_, text.size(), sizeof(std::uint32_t));
  }
  elements_.append(text);
  end_element(begin);
}

void ListpackWriter::append(std::int64_t integer) {
  const std::size_t begin = elements_.size();
  const auto bits = static_cast<std::uint64_t>(integer);
  if (integer >= 0 && integer <= kInteger7.value_mask) {
    append_bytes(elements_, bits, 1);
  } else if (integer >= kInteger13Min && integer <= kInteger13Max) {
    append_bytes(elements_, kInteger13.prefix | (bits >> 8 & kInteger13.value_mask), 1);
    append_bytes(elements_, bits, 1);
  } else {
    const auto* const form = std::ranges::find_if(
        kListpackIntegers,
        [&](const ListpackIntegerForm& each) { return fits(integer, each.bytes); });
    append_bytes(elements_, form->head, 1);
    append_bytes(elements_, bits, form->bytes);
  }
  end_element(begin);
}

void ListpackWriter::end_element(std::size_t begin) {
  append_size(elements_, elements_.size() - begin);
  ++count_;
}

void ListpackWriter::append(const ListpackWriter& more) {
  elements_.append(more.elements_);
  count_ += more.count_;
}

std::size_t ListpackWriter::size_bytes() const {
  return kListpackHeaderBytes + elements_.size() + 1;
}

std::string ListpackWriter::bytes() const {
  std::string bytes;
  bytes.reserve(size_bytes());
  append_bytes(bytes, size_bytes(), sizeof(std::uint32_t));
  append_bytes(bytes, std::min(count_, kUnknownListpackCount), sizeof(std::uint16_t));
  bytes.append(elements_);
  bytes.push_back(kListpackEnd);
  return bytes;
}

}  // namespace rushgate::rdb
