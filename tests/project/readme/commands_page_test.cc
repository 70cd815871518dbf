// docs/commands.md agrees with the command table.
#include "tests/project/readme/commands_page.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

TEST(CommandsPageTest, PageMatchesCommandTable) {
  std::ifstream in(std::filesystem::path(RUSHGATE_ROOT) / "docs/commands.md", std::ios::binary);
  ASSERT_TRUE(in);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(page == commands_page()) << "to renew it: ./dev document-commands";
}

}  // namespace
}  // namespace rushgate
