#include "engine/core/base/sha1.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using namespace std::string_view_literals;

// Examples of FIPS 180 and RFC 3174.
TEST(Sha1Test, PublishedExamplesAgree) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Sha1Test, ScriptNameEqualsScriptLoad) {
  EXPECT_EQ(sha1_hex("return 1"), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
}

TEST(Sha1Test, AnyBytesAreHashed) {
  EXPECT_NE(sha1_hex("a\0b"sv), sha1_hex("a"));
  EXPECT_NE(sha1_hex("a\0b"sv), sha1_hex("a\0c"sv));
}

}  // namespace
}  // namespace rushgate
