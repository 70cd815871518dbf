// Objects that are written as text.
#include "adapters/http/object_text.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/adapters/http/served_sale.h"

namespace rushgate::http {
namespace {

TEST(ObjectTextTest, TextEqualsJson) {
  const std::string strings[] = {"",          "plain", "a \"quoted\" \\ part",
                                 "line\nend", "\x7f",  "tea \xe8\x8c\xb6"};
  for (const std::string& string : strings) {
    Json json = {{"a", string}, {"b", -5}, {"c", std::to_string(INT64_MAX)}, {"d", nullptr}};
    ObjectText text;
    text.add_text("a", string)
        .add_number("b", -5)
        .add_number("c", INT64_MAX)
        .add_json("d", nullptr);
    EXPECT_EQ(std::move(text).finish(), json.dump() + "\n");
  }
  ObjectText invalid;
  invalid.add_text("a", "\xff");
  EXPECT_EQ(std::move(invalid).finish(), "{\"a\":\"\xef\xbf\xbd\"}\n");
  EXPECT_EQ(ObjectText().finish(), "{}\n");
}

}  // namespace
}  // namespace rushgate::http
