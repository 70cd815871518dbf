// The blocks of held orders, and the deadlines (docs/format.md, "Held orders").
#include "engine/sale/scripts/held_orders.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;

TEST(HeldBlockTest, BlockAndPlaceOfOrder) {
  EXPECT_EQ(HeldBlock::name_of("7305"), "730");
  EXPECT_EQ(HeldBlock::place_of("7305"), 5U);
  EXPECT_EQ(HeldBlock::name_of("7"), "");
}

TEST(HeldBlockTest, ValueIsThatOfFormatPage) {
  HeldBlock block;
  block.holds[1] = "1 900001 1 2500 1790000000000 1790003600000";
  block.holds[2] = "1 900002 1 2500 1790000000000 1790003600000";
  block.holds[5] = "1 900005 paid payment-8814";

  const std::string value = block.value();

  EXPECT_EQ(value,
            "1 43 1 900001 1 2500 1790000000000 1790003600000\n"
            "2 10 1 900002 =\n"
            "5 26 1 900005 paid payment-8814\n");
  HeldBlock again;
  ASSERT_TRUE(again.read(value));
  EXPECT_EQ(again.holds, block.holds);
}

TEST(HeldBlockTest, HoldMayHaveLineBreaks) {
  HeldBlock block;
  block.holds[0] = "1 5 cancelled operator\n1 3 a b c\n";
  block.holds[9] = "1 6 cancelled operator\n1 3 a b c\n";
  HeldBlock again;
  ASSERT_TRUE(again.read(block.value()));
  EXPECT_EQ(again.holds, block.holds);
}

TEST(HeldBlockTest, NoOrdersAreEmptyValue) {
  EXPECT_EQ(HeldBlock{}.value(), "");
  HeldBlock block;
  block.holds[3] = "left from before";
  ASSERT_TRUE(block.read(""));
  EXPECT_EQ(block.holds, HeldBlock{}.holds);
}

TEST(HeldBlockTest, MalformedValueIsRefused) {
  for (const std::string_view value :
       {"1", "1 ", "1 5", "x 5 1 2 3\n", "1 -5 1 2 3\n", "1 0 \n", "1 5 1 2 3", "1 6 1 2 3\n",
        "1 3 1 2\n", "1 5 1 2 =", "-1 5 1 2 3\n", "1 99999999999999999999 1 2 3\n",
        "1 5 1 2 3\n1 5 1 2 3\n"}) {
    EXPECT_FALSE(HeldBlock().read(value)) << value;
  }
}

TEST(DeadlineTest, OrdersOfOneBlockAreTogether) {
  std::string member;
  std::string_view last;
  for (const std::string_view order : {"7308", "7309", "7310", "7312", "7301"}) {
    add_to_deadline(order, member, last);
  }
  EXPECT_EQ(member, "730:89 731:02 730:1");

  std::vector<std::string> blocks;
  for (std::string_view rest = member; !rest.empty();) {
    const auto [name, digits] = DeadlineBlock::take(rest);
    blocks.push_back(concat(name, "/", digits));
  }
  EXPECT_THAT(blocks, ElementsAre("730/89", "731/02", "730/1"));
}

}  // namespace
}  // namespace rushgate
