#include "engine/redis/commands/hyperloglog.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <rushgate/random_seed.h>

namespace rushgate::hll {
namespace {

constexpr std::size_t kSparseMax = 3'000;
constexpr std::size_t kAllRuns = 100'000;

std::string with_elements(int count, std::size_t sparse_bytes_max) {
  std::string bytes = make_empty();
  for (int i = 0; i < count; ++i) raise(bytes, observe(std::to_string(i)), sparse_bytes_max);
  return bytes;
}

TEST(HyperLogLogTest, EmptyOneHasOneRun) {
  EXPECT_EQ(make_empty(), std::string("HYLL\1\0\0\0\0\0\0\0\0\0\0\0\x7F\xFF", 18));
  EXPECT_EQ(describe_runs(make_empty(), kAllRuns), "Z:16384");
  EXPECT_EQ(estimate(make_empty()), 0);
}

TEST(HyperLogLogTest, CountIsNearInBothForms) {
  for (const int elements : {1, 10, 100, 1'000, 10'000, 100'000}) {
    const auto count = estimate(with_elements(elements, kSparseMax));
    EXPECT_EQ(estimate(with_elements(elements, 0)), count);
    EXPECT_NEAR(static_cast<double>(*count), elements, elements * 0.03);
  }
}

TEST(HyperLogLogTest, ChangedRegisterSplitsRun) {
  std::string bytes = make_empty();
  EXPECT_EQ(raise(bytes, {5, 3}, kSparseMax), Raised::kYes);
  EXPECT_EQ(describe_runs(bytes, kAllRuns), "z:5 v:3,1 Z:16378");
  EXPECT_EQ(raise(bytes, {5, 3}, kSparseMax), Raised::kNo);
  raise(bytes, {16'383, 1}, kSparseMax);
  raise(bytes, {0, 1}, kSparseMax);
  EXPECT_EQ(describe_runs(bytes, kAllRuns), "v:1,1 z:4 v:3,1 Z:16377 v:1,1");
}

TEST(HyperLogLogTest, EqualNeighboursJoinUpToFour) {
  std::string bytes = make_empty();
  for (const std::size_t index : {10U, 12U, 11U, 13U}) raise(bytes, {index, 2}, kSparseMax);
  EXPECT_EQ(describe_runs(bytes, kAllRuns), "z:10 v:2,4 Z:16370");
  raise(bytes, {14, 2}, kSparseMax);
  EXPECT_EQ(describe_runs(bytes, kAllRuns), "z:10 v:2,4 v:2,1 Z:16369");
  raise(bytes, {11, 9}, kSparseMax);
  EXPECT_EQ(describe_runs(bytes, kAllRuns), "z:10 v:2,1 v:9,1 v:2,3 Z:16369");
}

TEST(HyperLogLogTest, HighRankNeedsDenseForm) {
  std::string bytes = with_elements(100, kSparseMax);
  raise(bytes, {7, 32}, kSparseMax);
  EXPECT_FALSE(is_dense(bytes));
  raise(bytes, {7, 33}, kSparseMax);
  ASSERT_TRUE(is_dense(bytes));
  EXPECT_EQ(bytes.size(), kDenseBytes);
  EXPECT_EQ(dense_register(bytes, 7), 33);
  EXPECT_TRUE(has_header(bytes));
}

TEST(HyperLogLogTest, SparseFormGrowsToItsBound) {
  for (const std::size_t bytes_max : {18U, 19U, 20U, 100U, 3'000U}) {
    std::string bytes = make_empty();
    for (std::size_t i = 0; !is_dense(bytes); i += 3) {
      ASSERT_LE(bytes.size(), bytes_max);
      raise(bytes, {i % kRegisters, static_cast<std::uint8_t>(i % 32 + 1)}, bytes_max);
    }
  }
}

TEST(HyperLogLogTest, RegistersOfBothFormsAreEqual) {
  const std::string sparse = with_elements(500, kSparseMax);
  ASSERT_FALSE(is_dense(sparse));
  Registers of_sparse{};
  Registers of_dense{};
  EXPECT_TRUE(merge(sparse, of_sparse));
  EXPECT_TRUE(merge(with_elements(500, 0), of_dense));
  EXPECT_EQ(of_sparse, of_dense);
}

TEST(HyperLogLogTest, InventedRegistersHaveLargestCount) {
  Registers registers;
  registers.fill(63);
  EXPECT_EQ(estimate(registers), std::uint64_t{1} << 63);
  registers.fill(51);
  EXPECT_EQ(estimate(registers), std::uint64_t{1} << 63);
}

TEST(HyperLogLogTest, LastCountIsKeptUntilChange) {
  std::string bytes = make_empty();
  const auto count = encode_count(0x0123'4567'89AB'CDEF);
  bytes.replace(kCountOffset, kCountBytes, count.data(), count.size());
  EXPECT_EQ(last_count(bytes), 0x0123'4567'89AB'CDEF);
  bytes[kHeaderBytes - 1] = byte_of_change(bytes);
  EXPECT_EQ(last_count(bytes), std::nullopt);
}

TEST(HyperLogLogTest, OtherStringsHaveNoHeader) {
  const std::string sparse = make_empty();
  const std::string dense = *to_dense(sparse);
  EXPECT_TRUE(has_header(sparse));
  EXPECT_TRUE(has_header(sparse.substr(0, kHeaderBytes)));
  EXPECT_FALSE(has_header(sparse.substr(0, kHeaderBytes - 1)));
  EXPECT_FALSE(has_header("HYLx" + sparse.substr(4)));
  EXPECT_FALSE(has_header(""));
  EXPECT_TRUE(has_header(dense));
  EXPECT_FALSE(has_header(dense + '\0'));
  EXPECT_FALSE(has_header(dense.substr(1)));
}

TEST(HyperLogLogTest, RunsMustHaveAllRegisters) {
  const std::string header = make_empty().substr(0, kHeaderBytes);
  Registers registers{};
  for (const std::string& runs :
       {std::string(), std::string("\x7F"), std::string("\x7F\xFE"), std::string("\x7F\xFF\0", 3),
        std::string("\x7F\xFF\x80"), std::string("\x7F\xFC\x87")}) {
    EXPECT_EQ(estimate(header + runs), std::nullopt);
    EXPECT_EQ(to_dense(header + runs), std::nullopt);
    EXPECT_FALSE(merge(header + runs, registers));
  }
  EXPECT_EQ(estimate(header + "\x7F\xFB\x83"), 4);
  std::string bytes = header;
  EXPECT_EQ(raise(bytes, {0, 1}, kSparseMax), Raised::kDamaged);
  EXPECT_EQ(raise(bytes, {0, 50}, kSparseMax), Raised::kDamaged);
}

/// Calls all functions that read a string from outside. Damage must be reported by all of them.
void read_all(const std::string& bytes, std::size_t sparse_bytes_max, std::mt19937_64& random) {
  Registers registers{};
  const bool is_whole = merge(bytes, registers);
  EXPECT_EQ(estimate(bytes).has_value(), is_whole);
  EXPECT_EQ(to_dense(bytes).has_value(), is_whole);
  last_count(bytes);
  EXPECT_LE(describe_runs(bytes, 50).size(), 100U);
  std::string changed = bytes;
  for (int i = 0; i < 20; ++i) {
    const Observation seen{random() % kRegisters, static_cast<std::uint8_t>(random() % 51 + 1)};
    const Raised raised = raise(changed, seen, sparse_bytes_max);
    if (is_whole) {
      ASSERT_NE(raised, Raised::kDamaged);
      registers[seen.index] = std::max(registers[seen.index], seen.rank);
    }
    ASSERT_TRUE(has_header(changed));
  }
  if (!is_whole) return;
  Registers after{};
  EXPECT_TRUE(merge(changed, after));
  EXPECT_EQ(after, registers);
}

TEST(HyperLogLogTest, RandomBytesAreReadSafely) {
  constexpr int kRounds = 1'000;
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  const std::string sound[] = {make_empty(), with_elements(30, kSparseMax),
                               with_elements(700, kSparseMax), with_elements(700, 0)};
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = sound[random() % std::size(sound)];
    if (random() % 4 == 0) bytes.resize(kHeaderBytes + random() % 40);
    for (std::size_t changes = random() % 6; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.erase(random() % bytes.size(), 1);
    if (random() % 4 == 0) bytes.insert(random() % bytes.size(), 1, static_cast<char>(random()));
    if (has_header(bytes)) read_all(bytes, random() % 2 == 0 ? kSparseMax : 40, random);
  }
}

}  // namespace
}  // namespace rushgate::hll
