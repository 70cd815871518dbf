#include "engine/core/base/utf8.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(Utf8Test, CharactersOfEachSizeAreAccepted) {
  for (const std::string_view text :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "j\xc3\xbcrgen"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
}

TEST(Utf8Test, OtherBytesAreRefused) {
  for (const std::string_view text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xe1\x80",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
        "j\xfcrgen", "a\xc3"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace rushgate
