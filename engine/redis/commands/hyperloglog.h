// The format of a HyperLogLog, as in Redis: a string that estimates how many distinct elements were
// added. Each element belongs to one of 16,384 registers, and raises it to the element's rank.
//
//   header      "HYLL" | form: 1 byte, 0 dense, 1 sparse | 3 unused bytes | the last count: 8 bytes,
//               the lowest first. The highest bit is set if a register has changed since
//   dense       the registers in 6 bits each, the lowest bits of each byte first
//   sparse      runs of registers, from the first to the last:
//     00nnnnnn            n + 1 zeros
//     01nnnnnn nnnnnnnn   n + 1 zeros
//     1vvvvvnn            n + 1 registers of v + 1
//
// Redis's estimator: Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"
// (2017).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rushgate::hll {

inline constexpr int kIndexBits = 14;
inline constexpr std::size_t kRegisters = std::size_t{1} << kIndexBits;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kDenseBytes = kHeaderBytes + kRegisters * 6 / 8;

// ---- Elements ----

/// A register, and the least value that an element demands of it.
struct Observation {
  std::size_t index;
  std::uint8_t rank;  // from 1 to 51
};

Observation observe(std::string_view element);

// ---- The whole string ----

/// Returns true if the header is that of a HyperLogLog. The rest may be damaged. All other functions
/// expect such strings.
bool has_header(std::string_view bytes);

inline bool is_dense(std::string_view bytes) { return bytes[4] == 0; }

/// Returns a sparse one in which all registers are zero.
std::string make_empty();

/// Converts to the dense form. Keeps the header. Empty: it is damaged.
std::optional<std::string> to_dense(std::string_view bytes);

/// Returns the runs of a sparse one: "z:16 v:3,2 Z:16366". Those after `bytes_max` are omitted.
std::string describe_runs(std::string_view bytes, std::size_t bytes_max);

// ---- The last count ----

/// Position and size of the count in the header.
inline constexpr std::size_t kCountOffset = 8;
inline constexpr std::size_t kCountBytes = 8;

/// Returns the last count; empty if a register has changed since.
std::optional<std::uint64_t> last_count(std::string_view bytes);

std::array<char, kCountBytes> encode_count(std::uint64_t count);

/// Returns the last byte of the header with the bit that a register has changed.
inline char byte_of_change(std::string_view bytes) {
  return static_cast<char>(bytes[kHeaderBytes - 1] | '\x80');
}

// ---- Registers ----

/// One byte each.
using Registers = std::array<std::uint8_t, kRegisters>;

/// Raises the registers to those of the HyperLogLog. Returns false if it is damaged.
[[nodiscard]] bool merge(std::string_view bytes, Registers& registers);

/// Estimates the number of elements. The second one returns empty if the HyperLogLog is damaged.
std::uint64_t estimate(const Registers& registers);
std::optional<std::uint64_t> estimate(std::string_view bytes);

// ---- Changes ----

std::uint8_t dense_register(std::string_view bytes, std::size_t index);

/// A dense register that is to be changed: new bytes for a part of the string.
struct DensePatch {
  std::size_t offset;
  std::array<char, 2> bytes;
  std::size_t size;

  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};
DensePatch patch_dense(std::string_view bytes, std::size_t index, std::uint8_t value);

enum class Raised : std::uint8_t { kNo, kYes, kDamaged };

/// Raises a register to the observation's rank, if it is less. Converts to the dense form if the
/// sparse one cannot represent the value, or would grow beyond `sparse_bytes_max`.
Raised raise(std::string& bytes, const Observation& observation, std::size_t sparse_bytes_max);

}  // namespace rushgate::hll
