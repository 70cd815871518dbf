// The programs in docs/recipes.md equal tests/project/readme/recipe_*.cc, and they work.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/command_output.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RecipesPageTest, PageShowsProgramsAndOutput) {
  const fs::path root = RUSHGATE_ROOT;
  const std::string page = contents(root / "docs/recipes.md");
  int programs = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "tests/project/readme")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("recipe_") || !name.ends_with(".cc")) continue;
    ++programs;
    const std::string shown = concat("<!-- ", name, " -->\n```cpp\n", contents(entry.path()),
                                     "```\n<!-- end of ", name, " -->\n");
    EXPECT_NE(page.find(shown), std::string::npos) << "docs/recipes.md must have this:\n" << shown;
    const std::string output = testing::checked_output_of(
        '\'' + std::string(RUSHGATE_EXAMPLES "/") + entry.path().stem().string() + '\'');
    EXPECT_NE(page.find("```\n" + output + "```\n"), std::string::npos) << output;
  }
  EXPECT_GT(programs, 0);
}

}  // namespace
}  // namespace rushgate
