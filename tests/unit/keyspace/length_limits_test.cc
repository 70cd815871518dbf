// Lengths beyond 32 bits are refused, not truncated. The bytes of these views are never read.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/keyspace/sorted_set_element.h"
#include "engine/redis/keyspace/stream_segment.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

constexpr std::size_t kLengthMax = std::numeric_limits<std::uint32_t>::max();

std::string_view long_string(std::size_t bytes) {
  static constexpr char kByte = 'x';
  return {&kByte, bytes};
}

TEST(LengthLimitsTest, BatchRefusesLongKeyOrValue) {
  StoreBatch batch;
  batch.put("key", "value");
  const std::size_t bytes = batch.size_bytes();
  const std::string_view huge = long_string(kLengthMax + 1);
  EXPECT_THROW(batch.put(huge, "value"), std::length_error);
  EXPECT_THROW(batch.put("key", huge), std::length_error);
  EXPECT_THROW(batch.remove(huge), std::length_error);
  EXPECT_THROW(batch.append_segment(1, {1, 1}, huge), std::length_error);
  EXPECT_EQ(batch.size_bytes(), bytes);
}

TEST(LengthLimitsTest, SortedSetRefusesLongMember) {
  EXPECT_THROW(SortedSetElement::make(long_string(kLengthMax + 1), 1), std::length_error);
}

TEST(LengthLimitsTest, StreamRefusesLongEntry) {
  SegmentWriter writer;
  writer.append({1, 1}, std::vector<StreamField>{{"a", "1"}});
  const std::string before = writer.bytes();
  const std::string_view huge = long_string(kLengthMax);
  const std::string_view half = long_string(kLengthMax / 2 + 1);
  for (const auto& fields :
       {std::vector<StreamField>{{"a", huge}}, {{huge, "a"}}, {{"a", half}, {"b", half}}}) {
    EXPECT_THROW(writer.append({1, 2}, fields), std::length_error);
    EXPECT_EQ(writer.bytes(), before);
  }
}

}  // namespace
}  // namespace rushgate
