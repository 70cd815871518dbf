// The program in README.md equals tests/project/readme/embed.cc, and it works.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/command_output.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

std::string contents(const char* file) {
  std::ifstream in(fs::path(RUSHGATE_ROOT) / file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

struct ProgramRun {
  int status = -1;
  std::string output;
};

ProgramRun run_program(const fs::path& dir) {
  ProgramRun run;
  run.output = testing::output_of("'" RUSHGATE_EMBED "' '" + dir.string() + "'", &run.status);
  return run;
}

class ReadmeTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path shop() const { return scratch_.path() / "shop"; }

 private:
  const TemporaryDirectory scratch_;
};

TEST_F(ReadmeTest, ReadmeShowsProgram) {
  const std::string shown = "<!-- embed.cc -->\n```cpp\n" +
                            contents("tests/project/readme/embed.cc") +
                            "```\n<!-- end of embed.cc -->\n";
  EXPECT_NE(contents("README.md").find(shown), std::string::npos) << "README.md must have this:\n"
                                                                  << shown;
}

TEST_F(ReadmeTest, ProgramPrintsDocumentedOutput) {
  const ProgramRun first = run_program(shop());
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_EQ(first.output, "order accepted, stored, audit passed\n");
  EXPECT_NE(contents("README.md").find(first.output), std::string::npos);
}

TEST_F(ReadmeTest, SecondRunSellsNothing) {
  const ProgramRun first = run_program(shop());
  const ProgramRun second = run_program(shop());
  EXPECT_EQ(second.status, 0) << second.output;
  EXPECT_EQ(second.output, first.output);
}

}  // namespace
}  // namespace rushgate
