#include <bit>
#include <cassert>

#include <rushgate/ids.h>

namespace rushgate {
namespace {

constexpr std::size_t kKeyBytes = 16;
constexpr int kRounds = 12;  // an even number
constexpr int kHighBits = 31;
constexpr int kLowBits = 32;
constexpr std::uint64_t kHighMask = (std::uint64_t{1} << kHighBits) - 1;
constexpr std::uint64_t kLowMask = (std::uint64_t{1} << kLowBits) - 1;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

/// Returns SipHash-2-4 of one word of eight bytes.
std::uint64_t sip_hash(std::uint64_t key_0, std::uint64_t key_1, std::uint64_t word) {
  std::uint64_t a = key_0 ^ 0x736f'6d65'7073'6575;
  std::uint64_t b = key_1 ^ 0x646f'7261'6e64'6f6d;
  std::uint64_t c = key_0 ^ 0x6c79'6765'6e65'7261;
  std::uint64_t d = key_1 ^ 0x7465'6462'7974'6573;
  const auto mix = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      a += b;
      b = std::rotl(b, 13) ^ a;
      a = std::rotl(a, 32);
      c += d;
      d = std::rotl(d, 16) ^ c;
      a += d;
      d = std::rotl(d, 21) ^ a;
      c += b;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  };
  const auto absorb = [&](std::uint64_t block) {
    d ^= block;
    mix(2);
    a ^= block;
  };
  absorb(word);
  absorb(std::uint64_t{sizeof(word)} << 56);  // the size of the message
  c ^= 0xff;
  mix(4);
  return a ^ b ^ c ^ d;
}

}  // namespace

absl::StatusOr<IdScrambler> IdScrambler::create(std::string_view key) {
  if (key.size() != kKeyBytes) {
    return absl::InvalidArgumentError("the key of an IdScrambler must have 16 bytes");
  }
  return IdScrambler(little_endian(key.substr(0, kKeyBytes / 2)),
                     little_endian(key.substr(kKeyBytes / 2)));
}

std::uint64_t IdScrambler::round_bits(int round, std::uint64_t half) const {
  return sip_hash(key_0_, key_1_, static_cast<std::uint64_t>(round) << kLowBits | half);
}

/// Runs all rounds. A round changes one half by the other, so the same round undoes it.
std::uint64_t IdScrambler::forth(std::uint64_t bits) const {
  std::uint64_t high = bits >> kLowBits;
  std::uint64_t low = bits & kLowMask;
  for (int round = 0; round < kRounds; round += 2) {
    low ^= round_bits(round, high) & kLowMask;
    high ^= round_bits(round + 1, low) & kHighMask;
  }
  return high << kLowBits | low;
}

std::uint64_t IdScrambler::back(std::uint64_t bits) const {
  std::uint64_t high = bits >> kLowBits;
  std::uint64_t low = bits & kLowMask;
  for (int round = kRounds - 2; round >= 0; round -= 2) {
    high ^= round_bits(round + 1, low) & kHighMask;
    low ^= round_bits(round, high) & kLowMask;
  }
  return high << kLowBits | low;
}

/// Gives the number that maps to 0 the image of 0 instead. So 0, which is no id, maps to itself.
std::int64_t IdScrambler::scramble(std::int64_t id) const {
  assert(id > 0);
  std::uint64_t bits = forth(static_cast<std::uint64_t>(id));
  if (bits == 0) bits = forth(0);
  return static_cast<std::int64_t>(bits);
}

std::int64_t IdScrambler::unscramble(std::int64_t number) const {
  assert(number > 0);
  std::uint64_t bits = back(static_cast<std::uint64_t>(number));
  if (bits == 0) bits = back(0);
  return static_cast<std::int64_t>(bits);
}

}  // namespace rushgate
