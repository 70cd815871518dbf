#include "engine/commands/command_table.h"

#include <string>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"

namespace rushgate {
namespace {

TEST(CommandTableTest, EachNameIsFoundInAnyCase) {
  for (const CommandSpec& spec : command_table()) {
    std::string name(spec.name);
    EXPECT_EQ(find_command(name), &spec);
    for (std::size_t i = 0; i < name.size(); i += 2) {
      name[i] = absl::ascii_toupper(static_cast<unsigned char>(name[i]));
    }
    EXPECT_EQ(find_command(name), &spec) << name;
    EXPECT_EQ(find_command(absl::AsciiStrToUpper(name)), &spec);
  }
}

TEST(CommandTableTest, NoOtherNameIs) {
  for (const CommandSpec& spec : command_table()) {
    const std::string name(spec.name);
    for (std::size_t i = 0; i < name.size(); ++i) {
      for (const unsigned flipped : {0x01U, 0x10U, 0x20U, 0x40U, 0x80U}) {
        std::string other = name;
        other[i] = static_cast<char>(static_cast<unsigned char>(other[i]) ^ flipped);
        const CommandSpec* const found = find_command(other);
        if (found != nullptr) {
          EXPECT_EQ(absl::AsciiStrToLower(other), found->name);
        }
      }
    }
    EXPECT_EQ(find_command(name + '\0'), nullptr);
    EXPECT_EQ(find_command(name + " "), nullptr);
  }
  EXPECT_EQ(find_command(""), nullptr);
  EXPECT_EQ(find_command(std::string(17, 'x')), nullptr);
  EXPECT_EQ(find_command(std::string(1'000'000, 'x')), nullptr);
}

}  // namespace
}  // namespace rushgate
