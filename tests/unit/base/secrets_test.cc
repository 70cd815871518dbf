#include "engine/core/base/secrets.h"

#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

/// Counts the reads of its bytes.
class CountedSecret {
 public:
  explicit CountedSecret(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  char operator[](std::size_t i) const {
    ++reads_;
    return bytes_[i];
  }
  [[nodiscard]] int reads() const { return reads_; }

 private:
  const std::string bytes_;
  mutable int reads_ = 0;
};

TEST(SecretsTest, OnlySecretEqualsItself) {
  const std::string secret = "secret";
  EXPECT_TRUE(equals_secret(secret, "secret"));
  for (const char* other : {"", "s", "secre", "secrets", "secretsecret", "Secret", "secreT"}) {
    EXPECT_FALSE(equals_secret(secret, other)) << other;
  }
  EXPECT_FALSE(equals_secret(secret, std::string("secret\0", 7)));
  EXPECT_TRUE(equals_secret(std::string("\xff"), "\xff"));
}

TEST(SecretsTest, DifferencePositionDoesNotChangeReads) {
  for (const char* given : {"secret", "xxxxxx", "sxxxxx", "secrex"}) {
    const CountedSecret secret("secret");
    equals_secret(secret, given);
    EXPECT_EQ(secret.reads(), 6) << given;
  }
  for (const char* secret_bytes : {"s", "a longer secret"}) {
    const CountedSecret secret(secret_bytes);
    EXPECT_FALSE(equals_secret(secret, "secret"));
    EXPECT_EQ(secret.reads(), 6) << secret_bytes;
  }
}

}  // namespace
}  // namespace rushgate
