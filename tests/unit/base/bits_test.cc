#include "engine/core/base/bits.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(BitsTest, FirstBitIsMostSignificant) {
  EXPECT_TRUE(bit_at("\x80"sv, 0));
  EXPECT_FALSE(bit_at("\x80"sv, 7));
  EXPECT_TRUE(bit_at("\x00\x01"sv, 15));
  EXPECT_FALSE(bit_at("\xff"sv, 8));
  EXPECT_FALSE(bit_at("", 0));
  EXPECT_EQ(read_bits("\x12\x34"sv, 4, 8), 0x23U);
  EXPECT_EQ(read_bits("\xff"sv, 4, 64), 0xf000'0000'0000'0000U);
  EXPECT_EQ(read_bits("\xff"sv, 4, 0), 0U);
}

TEST(BitsTest, EmptyRangeHasNoBits) {
  EXPECT_EQ(count_bits("", {0, 0}), 0U);
  EXPECT_EQ(count_bits("\xff"sv, {5, 5}), 0U);
  EXPECT_EQ(find_bit("", {0, 0}, false), std::nullopt);
  EXPECT_EQ(find_bit("\xff"sv, {5, 5}, true), std::nullopt);
}

/// Compares the functions with bits that are read one by one.
class RandomBitsTest : public ::testing::Test {
 protected:
  /// Returns long runs of equal bits, with a few exceptions.
  std::string any_bytes() {
    std::string bytes(random_.below(300), random_.chance(50) ? '\0' : '\xff');
    for (char& byte : bytes) {
      if (random_.chance(rate_)) byte = static_cast<char>(random_.below(256));
    }
    rate_ = random_.below(100);
    return bytes;
  }
  BitRange any_range(std::string_view bytes) {
    const std::uint64_t end = random_.below(bytes.size() * kByteBits + 1);
    return {random_.below(end + 1), end};
  }

  const std::uint64_t seed_ = random_seed();
  testing::Random random_{seed_};
  std::size_t rate_ = 1;
};

TEST_F(RandomBitsTest, RangesEqualBitByBit) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < 2'000; ++i) {
    const std::string bytes = any_bytes();
    const BitRange range = any_range(bytes);
    std::uint64_t count = 0;
    std::optional<std::uint64_t> first[2];
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
      const bool bit = bit_at(bytes, at);
      count += bit ? 1 : 0;
      if (!first[bit]) first[bit] = at;
    }
    ASSERT_EQ(count_bits(bytes, range), count);
    ASSERT_EQ(find_bit(bytes, range, false), first[false]);
    ASSERT_EQ(find_bit(bytes, range, true), first[true]);
  }
}

TEST_F(RandomBitsTest, WrittenBitsAreReadAgain) {
  SCOPED_TRACE(seed_text(seed_));
  for (int i = 0; i < 2'000; ++i) {
    const std::string bytes = any_bytes() + std::string(8, 'x');
    const auto count = static_cast<unsigned>(random_.below(65));
    const std::uint64_t position = random_.below(bytes.size() * kByteBits - count + 1);
    const std::uint64_t value = random_.bits();
    std::string changed = bytes;
    write_bits(changed, position, count, value);
    ASSERT_EQ(read_bits(changed, position, count), count == 64 ? value : value % (1ULL << count));
    for (std::uint64_t at = 0; at < bytes.size() * kByteBits; ++at) {
      if (at == position) at += count;
      ASSERT_EQ(bit_at(changed, at), bit_at(bytes, at));
    }
  }
}

}  // namespace
}  // namespace rushgate
