#include "engine/keyspace/string_value.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

TEST(StringValueTest, GivesBackTheBytesItWasMadeOf) {
  for (const auto bytes :
       {""sv, "5"sv, "-5"sv, "05"sv, " 5"sv, "text"sv, "a\0b"sv, "9223372036854775808"sv}) {
    EXPECT_EQ(StringValue(bytes).bytes(), bytes);
  }
}

TEST(StringValueTest, IsANumberOnlyInCanonicalForm) {
  EXPECT_EQ(StringValue("-5").integer(), -5);
  EXPECT_EQ(StringValue(std::int64_t{7}).bytes(), "7");
  EXPECT_EQ(StringValue("05").integer(), std::nullopt);
  EXPECT_EQ(StringValue("05").text(), "05");
}

}  // namespace
}  // namespace rushgate
