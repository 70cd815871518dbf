// The program in README.md equals tests/project/readme/embed.cc, and it works.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

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
  std::ostringstream command;
  command << "'" << RUSHGATE_EMBED << "' '" << dir.string() << "' 2>&1";
  FILE* const pipe = popen(command.str().c_str(), "r");
  if (pipe == nullptr) return run;
  char bytes[4096];
  for (std::size_t size = 0; (size = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
    run.output.append(bytes, size);
  }
  run.status = pclose(pipe);
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
