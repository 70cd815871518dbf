// Tests, headers, pages, headings and pictures that README.md and docs/ name exist.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate::structure {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = RUSHGATE_ROOT;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns README.md and the pages in docs/.
std::vector<fs::path> all_pages() {
  std::vector<fs::path> pages = {kRoot / "README.md"};
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

/// Returns true for a header of the repository, and for a public one: rushgate/reply.h.
bool is_header(const fs::path& path) {
  if (fs::is_regular_file(kRoot / path)) return true;
  for (const char* const part : {"engine", "storage", "adapters"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / part)) {
      if (entry.path().generic_string().ends_with("/include/" + path.generic_string())) return true;
    }
  }
  return false;
}

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// Returns "Suite.Name" of every test in tests/, and of every test in the kit's contracts.
std::set<std::string> all_tests() {
  const std::regex definition(R"(\nTEST(?:_F|_P)?\((\w+),\s+(\w+)\))");
  std::set<std::string> names;
  for (const char* const folder : {"tests", "adapters/testing"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string file = entry.path().filename().string();
      if (!file.ends_with("_test.cc") && !file.ends_with("_contract.h")) continue;
      const std::string text = contents(entry.path());
      for (const std::smatch& test : matches(text, definition)) {
        names.insert(test.str(1) + '.' + test.str(2));
      }
    }
  }
  return names;
}

TEST(DocumentsTest, TestsOnFaultsPageExist) {
  const std::set<std::string> tests = all_tests();
  const std::string page = contents(kRoot / "docs/faults-in-the-wild.md");
  const std::vector<std::smatch> named = matches(page, std::regex(R"(`([A-Z]\w+\.[A-Z]\w+)`)"));
  EXPECT_GT(named.size(), 30U);
  for (const std::smatch& test : named) EXPECT_TRUE(tests.contains(test.str(1))) << test.str(1);
}

TEST(DocumentsTest, TestsOnRecipesPageExist) {
  const std::set<std::string> tests = all_tests();
  const std::string page = contents(kRoot / "docs/recipes.md");
  const std::vector<std::smatch> named = matches(page, std::regex(R"(`([A-Z]\w+Test\.[A-Z]\w+)`)"));
  EXPECT_GT(named.size(), 5U);
  for (const std::smatch& test : named) EXPECT_TRUE(tests.contains(test.str(1))) << test.str(1);
}

TEST(DocumentsTest, EveryFaultTestIsOnFaultsPage) {
  const std::string page = contents(kRoot / "docs/faults-in-the-wild.md");
  for (const std::string& test : all_tests()) {
    if (!test.starts_with("FaultsInTheWildTest.")) continue;
    EXPECT_NE(page.find('`' + test + '`'), std::string::npos) << test;
  }
}

/// In a cell with several names, the later ones are in the folder of the first.
TEST(DocumentsTest, EveryListedHeaderExists) {
  const std::string page = contents(kRoot / "docs/embedding.md");
  std::size_t headers = 0;
  for (const std::smatch& row : matches(page, std::regex(R"(\n\| (`[^|]*\.h`) \|)"))) {
    const std::string cell = row.str(1);
    fs::path folder;
    for (const std::smatch& header : matches(cell, std::regex("`([^`]*)`"))) {
      const fs::path named = header.str(1);
      if (named.has_parent_path()) folder = named.parent_path();
      const fs::path path = folder / named.filename();
      EXPECT_TRUE(is_header(path)) << path;
      ++headers;
    }
  }
  EXPECT_GT(headers, 15U);
}

TEST(DocumentsTest, EveryPublicHeaderIsListed) {
  const std::string page = contents(kRoot / "docs/embedding.md");
  for (const char* const part : {"engine", "storage", "adapters"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kRoot / part)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".h" || path.parent_path().filename() != "rushgate") continue;
      const std::string name = path.filename().string();
      const bool is_listed = page.find("`rushgate/" + name + '`') != std::string::npos ||
                             page.find("`, `" + name + '`') != std::string::npos;
      EXPECT_TRUE(is_listed) << path;
    }
  }
}

TEST(DocumentsTest, EveryLinkLeadsToFile) {
  std::set<fs::path> linked;
  for (const fs::path& page : all_pages()) {
    const std::string text = contents(page);
    for (const std::smatch& link : matches(text, std::regex(R"(\]\(([^)\s:#]+)(#[^)\s]*)?\))"))) {
      const fs::path target = (page.parent_path() / link.str(1)).lexically_normal();
      EXPECT_TRUE(fs::exists(target)) << page << ": " << link.str(1);
      linked.insert(target);
    }
  }
  for (const char* const folder : {"docs/pictures", "docs/performance", "docs/strategies"}) {
    for (const fs::directory_entry& picture : fs::directory_iterator(kRoot / folder)) {
      EXPECT_TRUE(linked.contains(picture.path())) << picture.path() << " is on no page";
    }
  }
}

/// Returns the anchors of a page's headings, as GitHub makes them.
std::set<std::string> read_anchors(const fs::path& page) {
  std::set<std::string> anchors;
  std::ifstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) continue;
    std::string anchor;
    for (const char c : line.substr(line.find(' ') + 1)) {
      const auto letter = static_cast<unsigned char>(c);
      if (c == ' ' || c == '-') anchor += '-';
      if (std::isalnum(letter) != 0 || c == '_') anchor += static_cast<char>(std::tolower(letter));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(DocumentsTest, EveryLinkLeadsToHeading) {
  std::map<fs::path, std::set<std::string>> anchors;
  for (const fs::path& page : all_pages()) anchors[page] = read_anchors(page);
  for (const auto& [page, own] : anchors) {
    const std::string text = contents(page);
    for (const std::smatch& link : matches(text, std::regex(R"(\]\(([^)\s:#]*)#([^)\s]+)\))"))) {
      const bool is_here = link.str(1).empty();
      const fs::path other = (page.parent_path() / link.str(1)).lexically_normal();
      if (!is_here && !anchors.contains(other)) continue;  // no page of ours
      EXPECT_TRUE((is_here ? own : anchors[other]).contains(link.str(2)))
          << page << ": " << link.str();
    }
  }
}

TEST(DocumentsTest, EveryPageIsListedWithReader) {
  const std::string list = contents(kRoot / "docs/contributing.md");
  for (const fs::path& page : all_pages()) {
    const std::string row = "\n| [" + page.filename().string() + "](";
    EXPECT_NE(list.find(row), std::string::npos) << page;
  }
}

/// Viewers may have a dark background.
TEST(DocumentsTest, EveryPictureIsLegible) {
  for (const fs::directory_entry& picture : fs::directory_iterator(kRoot / "docs/pictures")) {
    SCOPED_TRACE(picture.path());
    if (picture.path().extension() == ".png") {  // a picture of a page
      EXPECT_LE(picture.file_size(), 200'000U);
      continue;
    }
    const std::string svg = contents(picture.path());
    EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    EXPECT_TRUE(
        std::regex_search(svg, std::regex(R"(<rect width="\d+" height="\d+" fill="white"/>)")));
    for (const std::smatch& size : matches(svg, std::regex(R"(font-size(?:="|: )(\d+))"))) {
      EXPECT_GE(std::stoi(size.str(1)), 12);
    }
  }
}

}  // namespace
}  // namespace rushgate::structure
