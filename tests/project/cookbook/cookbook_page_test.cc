// docs/cookbook.md and docs/orders.md show programs and their output, and the programs work.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/command_output.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = RUSHGATE_ROOT;

/// A page, and the folder of its programs.
struct Page {
  const char* file;
  const char* folder;
  int files_min;     // that it shows
  int programs_min;  // of which it shows the output
};
constexpr Page kPages[] = {
    {"docs/cookbook.md", "tests/project/cookbook", 6, 4},
    {"docs/orders.md", "tests/project/orders", 4, 2},
};
void PrintTo(const Page& page, std::ostream* out) { *out << page.file; }

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

class PageTest : public ::testing::TestWithParam<Page> {
 protected:
  static std::string page() { return contents(kRoot / GetParam().file); }
  static fs::directory_iterator files() {
    return fs::directory_iterator(kRoot / GetParam().folder);
  }
};
INSTANTIATE_TEST_SUITE_P(Pages, PageTest, ::testing::ValuesIn(kPages), [](const auto& page) {
  return fs::path(page.param.folder).filename().string();
});

/// Returns true for the programs and their headers, except for the one that measures frames.
bool is_shown(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "frame_meter.h" || name.ends_with("_test.cc")) return false;
  return name.ends_with(".cc") || name.ends_with(".h");
}

/// Runs a program and returns its stdout. Its stderr has durations, which differ in each run.
std::string output_of(const fs::path& program, const fs::path& directory) {
  return testing::checked_output_of("cd '" + directory.string() + "' && '" + program.string() +
                                    "' 2>/dev/null");
}

TEST_P(PageTest, PageShowsPrograms) {
  int shown = 0;
  for (const fs::directory_entry& entry : files()) {
    if (!is_shown(entry.path())) continue;
    ++shown;
    const std::string name = entry.path().filename().string();
    const std::string block = concat("<!-- ", name, " -->\n```cpp\n", contents(entry.path()),
                                     "```\n<!-- end of ", name, " -->\n");
    EXPECT_NE(page().find(block), std::string::npos) << GetParam().file << " must have this:\n"
                                                     << block;
  }
  EXPECT_GE(shown, GetParam().files_min);
}

TEST(CookbookPageTest, PageShowsPartsOfFiles) {
  const std::string text = contents(kRoot / "docs/cookbook.md");
  const std::string begin = "<!-- part of ";
  const std::string code = " -->\n```cpp\n";
  int parts = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    ++parts;
    const std::size_t name = at + begin.size();
    const std::size_t name_end = text.find(code, name);
    ASSERT_NE(name_end, std::string::npos);
    const std::size_t shown = name_end + code.size();
    const std::string part = text.substr(shown, text.find("```\n", shown) - shown);
    const std::string file = text.substr(name, name_end - name);
    EXPECT_NE(contents(kRoot / file).find(part), std::string::npos) << file << '\n' << part;
  }
  EXPECT_GT(parts, 0);
}

/// Programs that this build leaves out (fibers) do not run.
TEST_P(PageTest, PageShowsOutputOfPrograms) {
  int programs = 0;
  for (const fs::directory_entry& entry : files()) {
    const fs::path program = fs::path(RUSHGATE_PROGRAMS) / entry.path().stem();
    if (entry.path().extension() != ".cc" || !fs::is_regular_file(program)) continue;
    ++programs;
    const TemporaryDirectory scratch;
    const std::string output = output_of(program, scratch.path());
    EXPECT_NE(page().find("```\n" + output + "```\n"), std::string::npos) << program << " printed\n"
                                                                          << output;
  }
  EXPECT_GE(programs, GetParam().programs_min);
}

}  // namespace
}  // namespace rushgate
