#include "engine/core/base/bytes.h"

#include <string>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(BytesTest, SameBytesDetectsOneDifferentByte) {
  for (std::size_t size = 0; size <= 3 * kWordsBytesMax; ++size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(200 + i);
    EXPECT_TRUE(same_bytes(text, std::string(text)));
    EXPECT_FALSE(same_bytes(text, text + '\0'));
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ 1);
      EXPECT_FALSE(same_bytes(text, other)) << "byte " << i << " of " << size;
    }
  }
}

}  // namespace
}  // namespace rushgate
