#include "engine/redis/script/lua_struct.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

#include "absl/strings/ascii.h"

namespace rushgate {
namespace {

// ---- Formats ----

constexpr std::size_t kIntegerBytesMax = 32;
constexpr std::size_t kNativeAlignment = 8;

struct Option {
  char letter;
  std::size_t size;  // of the value; 0: not known from the option alone, or none
};

/// A format, read from its front: up to a zero byte, as Redis takes it.
class Format {
 public:
  Format(lua_State* lua, const char* text) : lua_(lua), next_(text) {}

  /// False at the end.
  bool read(Option& option) {
    if (*next_ == '\0') return false;
    option.letter = *next_++;
    option.size = size_of(option.letter);
    return true;
  }

  /// Takes an option that stands for no value.
  void set(char letter);

  /// Bytes to leave out in front of the option's value if it would stand at `position`.
  [[nodiscard]] std::size_t padding(std::size_t position, const Option& option) const {
    if (option.size == 0 || option.letter == 'c') return 0;
    const std::size_t unit = std::min(option.size, alignment_);
    return (unit - (position & (unit - 1))) & (unit - 1);
  }

  /// Where in a number of `size` bytes its byte `index` stands; 0 is the least significant.
  [[nodiscard]] std::size_t place(std::size_t index, std::size_t size) const {
    return endian_ == std::endian::big ? size - 1 - index : index;
  }

 private:
  std::size_t size_of(char letter);
  std::size_t number(std::size_t otherwise);

  lua_State* const lua_;
  const char* next_;
  std::endian endian_ = std::endian::native;
  std::size_t alignment_ = 1;
};

/// The number that follows, if there is one.
std::size_t Format::number(std::size_t otherwise) {
  constexpr int kMax = std::numeric_limits<int>::max();
  if (!absl::ascii_isdigit(static_cast<unsigned char>(*next_))) return otherwise;
  int value = 0;
  for (; absl::ascii_isdigit(static_cast<unsigned char>(*next_)); ++next_) {
    const int digit = *next_ - '0';
    if (value > (kMax - digit) / 10) luaL_error(lua_, "integral size overflow");
    value = 10 * value + digit;
  }
  return static_cast<std::size_t>(value);
}

std::size_t Format::size_of(char letter) {
  switch (letter) {
    case 'b':
    case 'B':
    case 'x':
      return 1;
    case 'h':
    case 'H':
      return sizeof(short);
    case 'l':
    case 'L':
      return sizeof(long);
    case 'T':
      return sizeof(std::size_t);
    case 'f':
      return sizeof(float);
    case 'd':
      return sizeof(double);
    case 'c':
      return number(1);
    case 'i':
    case 'I': {
      const std::size_t size = number(sizeof(int));
      if (size > kIntegerBytesMax) {
        luaL_error(lua_, "integral size %d is larger than limit of %d", static_cast<int>(size),
                   static_cast<int>(kIntegerBytesMax));
      }
      return size;
    }
    default:
      return 0;
  }
}

void Format::set(char letter) {
  switch (letter) {
    case ' ':
      return;
    case '>':
      endian_ = std::endian::big;
      return;
    case '<':
      endian_ = std::endian::little;
      return;
    case '!':
      alignment_ = number(kNativeAlignment);
      if (!std::has_single_bit(alignment_)) {
        luaL_error(lua_, "alignment %d is not a power of 2", static_cast<int>(alignment_));
      }
      return;
    default:
      luaL_argerror(lua_, 1, lua_pushfstring(lua_, "invalid format option '%c'", letter));
  }
}

bool is_integer(char letter) {
  return letter != '\0' && std::strchr("bBhHlLiIT", letter) != nullptr;
}

// ---- Numbers ----

/// As x86-64 casts it: in Redis that is left to the machine.
std::uint64_t truncate_to_bits(lua_Number number) {
  constexpr lua_Number kLimit = 9'223'372'036'854'775'808.0;  // 2^63
  constexpr std::uint64_t kIndefinite = std::uint64_t{1} << 63;
  if (std::isnan(number) || number < -kLimit) return kIndefinite;
  if (number < kLimit) return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  return number < 2 * kLimit ? static_cast<std::uint64_t>(number) : 0;
}

void add_bits(luaL_Buffer& buffer, const Format& format, std::size_t size, std::uint64_t bits) {
  char bytes[kIntegerBytesMax] = {};
  for (std::size_t i = 0; i < std::min(size, sizeof(bits)); ++i) {
    bytes[format.place(i, size)] = static_cast<char>(bits >> (8 * i));
  }
  luaL_addlstring(&buffer, bytes, size);
}

std::uint64_t read_bits(const char* data, const Format& format, std::size_t size) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min(size, sizeof(bits)); ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(data[format.place(i, size)])} << (8 * i);
  }
  return bits;
}

lua_Number to_signed(std::uint64_t bits, std::size_t size) {
  // Beyond eight bytes, the sign is shifted within 64 bits, as in
  // Redis.
  const std::uint64_t sign_and_above = ~std::uint64_t{0} << ((8 * size - 1) % 64);
  if ((bits & sign_and_above) != 0) bits |= sign_and_above;
  return static_cast<lua_Number>(static_cast<std::int64_t>(bits));
}

// ---- struct.pack ----

/// The data to write, and the position among the arguments.
struct Packing {
  lua_State* lua;
  Format format;
  luaL_Buffer& buffer;
  int argument = 2;
  std::size_t size = 0;  // so far

  lua_Number take_number() { return luaL_checknumber(lua, argument++); }
  void add(const Option& option, std::uint64_t bits) {
    add_bits(buffer, format, option.size, bits);
    size += option.size;
  }
  void add_zeros(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) luaL_addchar(&buffer, '\0');
    size += count;
  }
};

/// `c` and `s`: a string, or its first bytes.
void add_text(Packing& packing, const Option& option) {
  std::size_t length = 0;
  const char* const text = luaL_checklstring(packing.lua, packing.argument++, &length);
  const std::size_t size = option.size == 0 ? length : option.size;
  luaL_argcheck(packing.lua, length >= size, packing.argument, "string too short");
  luaL_addlstring(&packing.buffer, text, size);
  packing.size += size;
  if (option.letter == 's') packing.add_zeros(1);
}

void add_value(Packing& packing, const Option& option) {
  switch (option.letter) {
    case 'x':
      return packing.add(option, 0);
    case 'f':
      return packing.add(option,
                         std::bit_cast<std::uint32_t>(static_cast<float>(packing.take_number())));
    case 'd':
      return packing.add(option, std::bit_cast<std::uint64_t>(packing.take_number()));
    case 'c':
    case 's':
      return add_text(packing, option);
    default:
      if (!is_integer(option.letter)) return packing.format.set(option.letter);
      return packing.add(option, truncate_to_bits(packing.take_number()));
  }
}

/// struct.pack(format, value, …)
int pack_values(lua_State* lua) {
  luaL_Buffer buffer;
  Packing packing{lua, Format(lua, luaL_checkstring(lua, 1)), buffer};
  lua_pushnil(lua);  // found in the place of an argument that lacks; above are the buffer's pieces
  luaL_buffinit(lua, &buffer);
  Option option{};
  while (packing.format.read(option)) {
    packing.add_zeros(packing.format.padding(packing.size, option));
    add_value(packing, option);
  }
  luaL_pushresult(&buffer);
  return 1;
}

// ---- struct.unpack ----

constexpr int kData = 2;  // position of the argument

/// The data to read. The values found so far are on top of the stack.
struct Unpacking {
  lua_State* lua;
  Format format;
  const char* data;
  std::size_t size;
  std::size_t position;
  int values = 0;

  void need(std::size_t bytes) const {
    const bool there = bytes <= size && position <= size - bytes;
    luaL_argcheck(lua, there, kData, "data string too short");
  }
  [[nodiscard]] const char* here() const { return data + position; }

  void push_number(lua_Number number) {
    lua_pushnumber(lua, number);
    ++values;
  }
  void push_text(std::size_t length) {
    lua_pushlstring(lua, here(), length);
    ++values;
  }
};

/// `c`: as many bytes as given, or as the value before it, which the string replaces.
std::size_t read_counted_text(Unpacking& unpacking, std::size_t length) {
  lua_State* const lua = unpacking.lua;
  if (length == 0) {
    if (unpacking.values == 0 || lua_isnumber(lua, -1) == 0) {
      luaL_error(lua, "format 'c0' needs a previous size");
    }
    length = truncate_to_bits(lua_tonumber(lua, -1));
    lua_pop(lua, 1);
    --unpacking.values;
    unpacking.need(length);
  }
  unpacking.push_text(length);
  return length;
}

/// `s`: up to a zero byte.
std::size_t read_ended_text(Unpacking& unpacking) {
  const void* const end = std::memchr(unpacking.here(), '\0', unpacking.size - unpacking.position);
  if (end == nullptr) luaL_error(unpacking.lua, "unfinished string in data");
  const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - unpacking.here());
  unpacking.push_text(length);
  return length + 1;
}

/// Reads the option's value from where it stands; returns its size.
std::size_t read_value(Unpacking& unpacking, const Option& option) {
  const auto bits = [&unpacking, &option] {
    return read_bits(unpacking.here(), unpacking.format, option.size);
  };
  switch (option.letter) {
    case 'x':
      break;
    case 'f':
      unpacking.push_number(std::bit_cast<float>(static_cast<std::uint32_t>(bits())));
      break;
    case 'd':
      unpacking.push_number(std::bit_cast<double>(bits()));
      break;
    case 'c':
      return read_counted_text(unpacking, option.size);
    case 's':
      return read_ended_text(unpacking);
    default:
      if (!is_integer(option.letter)) {
        unpacking.format.set(option.letter);
      } else if (absl::ascii_islower(static_cast<unsigned char>(option.letter))) {
        unpacking.push_number(to_signed(bits(), option.size));
      } else {
        unpacking.push_number(static_cast<lua_Number>(bits()));
      }
  }
  return option.size;
}

/// struct.unpack(format, data [, position])
int unpack(lua_State* lua) {
  Unpacking unpacking{lua, Format(lua, luaL_checkstring(lua, 1)), nullptr, 0, 0};
  unpacking.data = luaL_checklstring(lua, kData, &unpacking.size);
  const auto first = static_cast<std::size_t>(luaL_optinteger(lua, 3, 1));
  luaL_argcheck(lua, first > 0, 3, "offset must be 1 or greater");
  unpacking.position = first - 1;
  Option option{};
  while (unpacking.format.read(option)) {
    unpacking.position += unpacking.format.padding(unpacking.position, option);
    unpacking.need(option.size);
    luaL_checkstack(lua, 2, "too many results");
    unpacking.position += read_value(unpacking, option);
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(unpacking.position + 1));
  return unpacking.values + 1;
}

// ---- struct.size ----

/// struct.size(format)
int size(lua_State* lua) {
  Format format(lua, luaL_checkstring(lua, 1));
  std::size_t sum = 0;
  Option option{};
  while (format.read(option)) {
    sum += format.padding(sum, option) + option.size;
    if (option.letter == 's') {
      luaL_argerror(lua, 1, "option 's' has no fixed size");
    } else if (option.letter == 'c' && option.size == 0) {
      luaL_argerror(lua, 1, "option 'c0' has no fixed size");
    } else if (!absl::ascii_isalnum(static_cast<unsigned char>(option.letter))) {
      format.set(option.letter);
    }
  }
  lua_pushinteger(lua, static_cast<lua_Integer>(sum));
  return 1;
}

constexpr luaL_Reg kStructFunctions[] = {
    {"pack", &pack_values}, {"unpack", &unpack}, {"size", &size}, {nullptr, nullptr}};

}  // namespace

void push_struct(lua_State* lua) {
  lua_createtable(lua, 0, static_cast<int>(std::size(kStructFunctions) - 1));
  luaL_register(lua, nullptr, kStructFunctions);
}

}  // namespace rushgate
