#include "engine/core/base/concat.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(ConcatTest, PartsOfAllTypesFollowEachOther) {
  EXPECT_EQ(concat("user ", 5, std::string(" of "), std::string_view("shop"), -1),
            "user 5 of shop-1");
}

TEST(ConcatTest, LargestIntegersKeepTheirValue) {
  EXPECT_EQ(concat(std::numeric_limits<std::uint64_t>::max(), " ",
                   std::numeric_limits<std::int64_t>::min(), " ", true),
            "18446744073709551615 -9223372036854775808 1");
}

}  // namespace
}  // namespace rushgate
