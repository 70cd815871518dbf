#include <string>

#include <gtest/gtest.h>

#include "engine/core/base/bytes.h"
#include "engine/core/base/varint.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {
namespace {

TEST(MaybeIntegerTest, CanonicalIntegerIsRecognized) {
  EXPECT_TRUE(MaybeInteger("-42").is_integer());
  EXPECT_EQ(MaybeInteger("-42").integer(), -42);
  EXPECT_EQ(MaybeInteger("-42").text(), "-42");
  for (const char* text : {"", "042", "-0", "+1", " 1", "1.0", "9223372036854775808", "x"}) {
    EXPECT_FALSE(MaybeInteger(text).is_integer()) << text;
    EXPECT_EQ(MaybeInteger(text).text(), text);
  }
  EXPECT_FALSE(MaybeInteger().is_integer());
  EXPECT_EQ(MaybeInteger(std::string("7")).integer(), 7);
}

TEST(BytesTest, BytesAreEqualIfSizeAndContentsAre) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string a = text.substr(0, size);
    EXPECT_TRUE(same_bytes(a, std::string(a)));
    EXPECT_FALSE(same_bytes(a, a + "x"));
    for (std::size_t i = 0; i < size; ++i) {
      std::string b = a;
      b[i] = '?';
      EXPECT_FALSE(same_bytes(a, b)) << size << ' ' << i;
    }
  }
}

TEST(VarintTest, AppenderEqualsSingleAppends) {
  std::string one_by_one = "begin";
  std::string together = "begin";
  VarintAppender appender(together);
  for (unsigned shift = 0; shift < 64; ++shift) {
    const std::uint64_t value = (std::uint64_t{1} << shift) - 1;
    append_varint(one_by_one, value);
    appender.varint(value);
    if (shift % 20 != 7) continue;
    const std::string between(3 * shift, 'b');  // shorter and longer than the buffer
    one_by_one += between;
    appender.bytes(between);
  }
  EXPECT_EQ(together.size() + appender.unflushed(), one_by_one.size());
  appender.flush();
  EXPECT_EQ(together, one_by_one);
}

}  // namespace
}  // namespace rushgate
