#include "engine/redis/rdb/intset.h"

#include <cstddef>
#include <limits>

#include "engine/core/base/numbers.h"
#include "engine/redis/rdb/little_endian.h"

namespace rushgate::rdb {
namespace {

constexpr std::size_t kIntsetHeaderBytes = 8;
constexpr std::size_t kIntsetCountAt = 4;

template <class Integer>
std::optional<std::vector<std::string>> read(std::string_view integers) {
  std::vector<std::string> members;
  members.reserve(integers.size() / sizeof(Integer));
  std::optional<Integer> last;
  for (; !integers.empty(); integers.remove_prefix(sizeof(Integer))) {
    const auto member = load_little_endian<Integer>(integers);
    if (last && member <= *last) return std::nullopt;
    members.emplace_back(DecimalText(member).view());
    last = member;
  }
  return members;
}

template <class Integer>
bool fit(const std::vector<std::int64_t>& integers) {
  using Limits = std::numeric_limits<Integer>;
  return integers.empty() ||
         (integers.front() >= Limits::min() && integers.back() <= Limits::max());
}

template <class Integer>
std::string write(const std::vector<std::int64_t>& integers) {
  std::string bytes;
  bytes.reserve(kIntsetHeaderBytes + integers.size() * sizeof(Integer));
  append_little_endian(bytes, std::uint32_t{sizeof(Integer)});
  append_little_endian(bytes, static_cast<std::uint32_t>(integers.size()));
  for (const std::int64_t integer : integers) {
    append_little_endian(bytes, static_cast<Integer>(integer));
  }
  return bytes;
}

}  // namespace

std::optional<std::vector<std::string>> read_intset(std::string_view bytes) {
  if (bytes.size() < kIntsetHeaderBytes) return std::nullopt;
  const std::size_t width = load_little_endian<std::uint32_t>(bytes);
  const std::size_t count = load_little_endian<std::uint32_t>(bytes.substr(kIntsetCountAt));
  const std::string_view integers = bytes.substr(kIntsetHeaderBytes);
  if (integers.size() != count * width) return std::nullopt;
  switch (width) {
    case sizeof(std::int16_t):
      return read<std::int16_t>(integers);
    case sizeof(std::int32_t):
      return read<std::int32_t>(integers);
    case sizeof(std::int64_t):
      return read<std::int64_t>(integers);
    default:
      return std::nullopt;
  }
}

std::string write_intset(const std::vector<std::int64_t>& integers) {
  if (fit<std::int16_t>(integers)) return write<std::int16_t>(integers);
  if (fit<std::int32_t>(integers)) return write<std::int32_t>(integers);
  return write<std::int64_t>(integers);
}

}  // namespace rushgate::rdb
