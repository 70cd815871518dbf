#include "engine/commands/function_payload.h"

#include <array>
#include <utility>

#include "engine/script/function_errors.h"

namespace rushgate {
namespace {

constexpr char kLibraryOpcode = '\xf5';
constexpr std::uint16_t kVersion = 10;  // of Redis 7.0
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kEndBytes = kVersionBytes + kChecksumBytes;

// The two upper bits of a length's first byte.
constexpr unsigned kShort = 0;
constexpr unsigned kMedium = 1;
constexpr unsigned kLong = 2;
constexpr unsigned kFormBits = 6;
constexpr std::uint8_t kLong32 = 0x80;
constexpr std::uint8_t kLong64 = 0x81;

// Encodings of strings.
constexpr std::uint64_t kIntegers = 3;  // 0, 1, 2: an integer of 1, 2 or 4 bytes
constexpr std::uint64_t kLzf = 3;

constexpr std::array<std::uint64_t, 256> kChecksumTable = [] {
  constexpr std::uint64_t kPolynomial = 0x95ac9329ac4bc9b5;  // reflected
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t i = 0; i < table.size(); ++i) {
    std::uint64_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}();

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i - 1]);
  }
  return value;
}

void append_little_endian(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i));
}

void append_length(std::string& out, std::uint64_t length) {
  const auto append = [&](std::uint64_t byte) { out.push_back(static_cast<char>(byte)); };
  if (length < 1U << 6) return append(length);
  if (length < 1U << 14) {
    append(0x40 | length >> 8);
    return append(length);
  }
  const bool is_long = length >> 32 != 0;
  append(is_long ? kLong64 : kLong32);
  for (int shift = is_long ? 56 : 24; shift >= 0; shift -= 8) append(length >> shift);
}

}  // namespace

std::uint64_t payload_checksum(std::string_view bytes) {
  std::uint64_t checksum = 0;
  for (const char c : bytes) {
    checksum = kChecksumTable[(checksum ^ static_cast<std::uint8_t>(c)) & 0xff] ^ checksum >> 8;
  }
  return checksum;
}

std::optional<std::string> decompress_lzf(std::string_view compressed, std::size_t size) {
  constexpr unsigned kLiteralsMax = 32;
  constexpr std::size_t kLongCopy = 7;
  std::string out;
  std::size_t at = 0;
  const auto next = [&] { return static_cast<std::uint8_t>(compressed[at++]); };
  while (at < compressed.size()) {
    const std::uint8_t control = next();
    if (control < kLiteralsMax) {
      const std::size_t literals = control + std::size_t{1};
      if (literals > compressed.size() - at || literals > size - out.size()) return std::nullopt;
      out.append(compressed.substr(at, literals));
      at += literals;
      continue;
    }
    std::size_t length = control >> 5;
    if (length == kLongCopy) {
      if (at == compressed.size()) return std::nullopt;
      length += next();
    }
    length += 2;
    if (at == compressed.size()) return std::nullopt;
    const std::size_t distance = (control & 0x1fU) << 8 | next();
    if (distance >= out.size() || length > size - out.size()) return std::nullopt;
    const std::size_t from = out.size() - distance - 1;
    for (std::size_t i = 0; i < length; ++i) out.push_back(out[from + i]);  // they may overlap
  }
  if (out.size() != size) return std::nullopt;
  return out;
}

// ---- Writing ----

void LibraryPayloadWriter::add(std::string_view code) {
  bytes_.push_back(kLibraryOpcode);
  append_length(bytes_, code.size());
  bytes_.append(code);
}

std::string LibraryPayloadWriter::finish() {
  append_little_endian(bytes_, kVersion, kVersionBytes);
  append_little_endian(bytes_, payload_checksum(bytes_), kChecksumBytes);
  return std::move(bytes_);
}

// ---- Reading ----

bool LibraryPayloadReader::is_intact() const {
  if (payload_.size() < kEndBytes) return false;
  const std::size_t checked = payload_.size() - kChecksumBytes;
  const std::uint64_t version =
      little_endian(payload_.substr(checked - kVersionBytes, kVersionBytes));
  return version <= kVersion &&
         little_endian(payload_.substr(checked)) == payload_checksum(payload_.substr(0, checked));
}

bool LibraryPayloadReader::at_end() const { return at_ + kEndBytes >= payload_.size(); }

std::optional<std::string> LibraryPayloadReader::next(Reply& error) {
  const auto opcode = take(1);
  if (!opcode || opcode->front() != kLibraryOpcode) {
    error = function_errors::payload_type();
    return std::nullopt;
  }
  auto code = take_string();
  if (!code) error = function_errors::payload_library();
  return code;
}

/// As in Redis, a damaged string may extend into version and checksum.
std::optional<std::string_view> LibraryPayloadReader::take(std::uint64_t count) {
  if (count > payload_.size() - at_) return std::nullopt;
  const std::string_view taken = payload_.substr(at_, count);
  at_ += taken.size();
  return taken;
}

std::optional<std::uint64_t> LibraryPayloadReader::take_big_endian(std::size_t bytes) {
  const auto taken = take(bytes);
  if (!taken) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : *taken) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

std::optional<LibraryPayloadReader::Length> LibraryPayloadReader::take_length() {
  const auto head = take_big_endian(1);
  if (!head) return std::nullopt;
  const std::uint64_t rest = *head & ((1U << kFormBits) - 1);
  std::optional<std::uint64_t> value = rest;
  switch (*head >> kFormBits) {
    case kShort:
      break;
    case kMedium:
      value = take_big_endian(1);
      if (value) *value |= rest << 8;
      break;
    case kLong:
      if (*head != kLong32 && *head != kLong64) return std::nullopt;
      value = take_big_endian(*head == kLong32 ? 4 : 8);
      break;
    default:
      return Length{rest, true};
  }
  if (!value) return std::nullopt;
  return Length{*value, false};
}

std::optional<std::string> LibraryPayloadReader::take_string() {
  const auto length = take_length();
  if (!length) return std::nullopt;
  if (length->is_encoding) return take_encoded(length->value);
  const auto bytes = take(length->value);
  if (!bytes || bytes->size() > bytes_max_) return std::nullopt;
  return std::string(*bytes);
}

std::optional<std::string> LibraryPayloadReader::take_encoded(std::uint64_t encoding) {
  if (encoding < kIntegers) {  // no library begins with a number
    if (!take(std::uint64_t{1} << encoding)) return std::nullopt;
    return std::string();
  }
  if (encoding != kLzf) return std::nullopt;
  const auto compressed = take_length();
  const auto size = take_length();
  if (!compressed || !size || compressed->is_encoding || size->is_encoding) return std::nullopt;
  const auto bytes = take(compressed->value);
  if (!bytes || size->value > bytes_max_) return std::nullopt;
  return decompress_lzf(*bytes, size->value);
}

}  // namespace rushgate
