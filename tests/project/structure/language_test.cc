// The checker of language.h, and its rules applied to the files of this repository.
#include "tests/project/structure/language.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate::structure {
namespace {

namespace fs = std::filesystem;

/// "<line> <rule>" of every lapse.
std::vector<std::string> lapses(std::string_view file, std::string_view contents) {
  std::vector<std::string> found;
  for (const Lapse& lapse : check_language(file, contents)) {
    found.push_back(std::to_string(lapse.line) + ' ' + lapse.rule);
  }
  return found;
}

using Lapses = std::vector<std::string>;

TEST(LanguageTest, BannedWordInCommentIsFound) {
  EXPECT_EQ(lapses("engine/a.h", "int a;  // An int.\n/// Nobody reads it.\n"),
            Lapses{"2 \"nobody\" (write: no client, no thread, none)"});
  EXPECT_EQ(lapses("engine/a.cc", "f();  // for those that wait"),
            Lapses{"1 \"those that\" (write: a noun)"});
}

TEST(LanguageTest, CodeAndStringsAreSkipped) {
  EXPECT_EQ(lapses("engine/a.cc", "tell(\"// nobody\", who);\n"), Lapses{});
  EXPECT_EQ(lapses("engine/a.cc", "// TOUCH returns text() and `text`\n"), Lapses{});
  EXPECT_EQ(lapses("docs/a.md", "`what` [page](what.md)\n```\nwho\n```\n"), Lapses{});
  EXPECT_EQ(lapses("engine/a.h", "// https://example.org/~mark/ is read.\n"), Lapses{});
}

TEST(LanguageTest, ProseOfOtherFilesIsChecked) {
  EXPECT_EQ(lapses("docs/a.md", "```\n```\nIt is told.\n"),
            Lapses{"3 \"told\" (write: reported, set)"});
  EXPECT_EQ(lapses("dev", "echo anew\n"), Lapses{"1 \"anew\" (write: from scratch)"});
}

TEST(LanguageTest, TermOfFieldIsAllowed) {
  EXPECT_EQ(lapses("docs/a.md", "A waiting room has no\nroom.\n"),
            Lapses{"2 \"room\" (write: module, or space)"});
}

TEST(LanguageTest, LongOrBannedTestNameIsFound) {
  EXPECT_EQ(lapses("tests/a_test.cc", "TEST(A, OneTwoThreeFourFiveSixSevenEight) {}\n"), Lapses{});
  EXPECT_EQ(lapses("tests/a_test.cc", "TEST_F(A, OneTwoThreeFourFiveSixSevenEightIX) {\n"),
            Lapses{"1 a test name of 9 words"});
  EXPECT_EQ(lapses("tests/a_test.cc", "TEST(A, NobodyReads) {\n"),
            Lapses{"1 \"nobody\" (write: no client, no thread, none)"});
}

/// Every file with prose, as a path from the root of the repository.
std::vector<std::string> files_with_prose() {
  const fs::path root = RUSHGATE_ROOT;
  std::vector<std::string> files = {"README.md", "CMakeLists.txt", "dev"};
  for (const char* const part : {"engine", "storage", "adapters", "apps", "tests", "docs"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const fs::path name = entry.path().filename();
      const fs::path extension = name.extension();
      if (extension == ".h" || extension == ".cc" || extension == ".md" || extension == ".cmake" ||
          name == "CMakeLists.txt") {
        files.push_back(entry.path().lexically_relative(root).generic_string());
      }
    }
  }
  return files;
}

TEST(LanguageTest, NoFileBreaksRule) {
  for (const std::string& file : files_with_prose()) {
    std::ifstream in(fs::path(RUSHGATE_ROOT) / file, std::ios::binary);
    ASSERT_TRUE(in) << file;
    const std::string contents{std::istreambuf_iterator<char>(in), {}};
    for (const Lapse& lapse : check_language(file, contents)) {
      ADD_FAILURE() << lapse.file << ":" << lapse.line << ": " << lapse.rule;
    }
  }
}

}  // namespace
}  // namespace rushgate::structure
