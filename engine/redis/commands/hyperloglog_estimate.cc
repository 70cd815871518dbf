// The statistics of hyperloglog.h: ranks of elements, and the estimate of their number.
#include <bit>
#include <cmath>
#include <limits>

#include "engine/redis/commands/hyperloglog.h"

namespace rushgate::hll {
namespace {

/// The bits of a hash that the rank depends on.
constexpr int kRankBits = 64 - kIndexBits;

/// MurmurHash64A by Austin Appleby, which is in the public domain, with Redis's seed.
std::uint64_t hash(std::string_view bytes) {
  constexpr std::uint64_t kSeed = 0xADC8'3B19;
  constexpr std::uint64_t kFactor = 0xC6A4'A793'5BD1'E995;
  constexpr int kShift = 47;
  std::uint64_t hash = kSeed ^ bytes.size() * kFactor;
  const auto read = [&bytes](std::size_t offset, std::size_t size) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < size; ++i)
      word |= std::uint64_t{static_cast<std::uint8_t>(bytes[offset + i])} << 8 * i;
    return word;
  };
  const std::size_t tail = bytes.size() % 8;
  for (std::size_t offset = 0; offset + tail < bytes.size(); offset += 8) {
    std::uint64_t word = read(offset, 8) * kFactor;
    word ^= word >> kShift;
    hash = (hash ^ word * kFactor) * kFactor;
  }
  if (tail > 0) hash = (hash ^ read(bytes.size() - tail, tail)) * kFactor;
  hash = (hash ^ hash >> kShift) * kFactor;
  return hash ^ hash >> kShift;
}

// The two series of Ertl's algorithm. Each ends when a term no longer changes the sum.

double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double factor = 1;
  double sum = x;
  double before = 0;
  do {
    x *= x;
    before = sum;
    sum += x * factor;
    factor += factor;
  } while (sum != before);
  return sum;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double factor = 1;
  double sum = 1 - x;
  double before = 0;
  do {
    x = std::sqrt(x);
    before = sum;
    factor *= 0.5;
    sum -= std::pow(1 - x, 2) * factor;
  } while (sum != before);
  return sum / 3;
}

}  // namespace

Observation observe(std::string_view element) {
  const std::uint64_t bits = hash(element);
  const std::uint64_t rest = bits >> kIndexBits | std::uint64_t{1} << kRankBits;
  return {static_cast<std::size_t>(bits % kRegisters),
          static_cast<std::uint8_t>(std::countr_zero(rest) + 1)};
}

std::uint64_t estimate(const Registers& registers) {
  constexpr double kAlpha = 0.721347520444481703680;  // 1 / (2 ln 2)
  constexpr double kCount = kRegisters;
  std::array<int, 64> with_value{};
  for (const std::uint8_t value : registers) ++with_value[value & 0x3F];

  double z = kCount * tau((kCount - with_value[kRankBits + 1]) / kCount);
  for (std::size_t value = kRankBits; value >= 1; --value) z = (z + with_value[value]) * 0.5;
  z += kCount * sigma(with_value[0] / kCount);
  const double estimate = kAlpha * kCount * kCount / z;
  // Only invented registers lead there. Redis then returns the lowest integer.
  constexpr double kTooLarge = 9'223'372'036'854'775'808.0;
  if (!(estimate < kTooLarge)) return std::uint64_t{1} << 63;
  return static_cast<std::uint64_t>(std::llround(estimate));
}

}  // namespace rushgate::hll
