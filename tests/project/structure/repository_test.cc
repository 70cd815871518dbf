// Applies the rules of include_rules.h to the files of this repository.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/project/structure/include_rules.h"

namespace rushgate::structure {
namespace {

namespace fs = std::filesystem;

/// Returns all files of the project with one of the extensions, as sorted paths from its root.
std::vector<std::string> files_with(std::initializer_list<std::string_view> extensions) {
  const fs::path root = RUSHGATE_ROOT;
  std::vector<std::string> files;
  for (const char* const part : {"engine", "storage", "adapters", "apps", "tests"}) {
    if (!fs::exists(root / part)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const std::string extension = entry.path().extension().string();
      if (std::ranges::find(extensions, extension) == extensions.end()) continue;
      files.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> source_files() { return files_with({".h", ".cc"}); }

std::string text_of_file(const std::string& file) {
  std::ifstream in(fs::path(RUSHGATE_ROOT) / file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RepositoryTest, IncludesPointOneWay) {
  const std::vector<std::string> files = source_files();
  EXPECT_NE(std::find(files.begin(), files.end(), "tests/project/structure/repository_test.cc"),
            files.end());
  for (const std::string& file : files) {
    for (const Violation& violation : check_includes(file, text_of_file(file))) {
      ADD_FAILURE() << violation.file << ":" << violation.line << ": " << violation.rule;
    }
  }
}

/// Returns the number of words of a name in CamelCase: XReadReplies2Nil has X, Read, Replies2 and Nil.
std::size_t count_words(std::string_view name) {
  const auto is_upper = [&](std::size_t at) {
    return at < name.size() && std::isupper(static_cast<unsigned char>(name[at])) != 0;
  };
  const auto is_lower = [&](std::size_t at) {
    return at < name.size() && std::islower(static_cast<unsigned char>(name[at])) != 0;
  };
  std::size_t words = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || (is_upper(i) && (!is_upper(i - 1) || is_lower(i + 1)))) ++words;
  }
  return words;
}

TEST(RepositoryTest, TestNameHasAtMostEightWords) {
  constexpr std::size_t kWordsMax = 8;
  EXPECT_EQ(count_words("XReadReplies2Nil"), 4u);
  static const std::regex kTest(R"((?:^|\n)TEST(?:_F|_P)?\(\w+,\s*(\w+)\))");
  std::size_t tests = 0;
  for (const std::string& file : source_files()) {
    const std::string text = text_of_file(file);
    for (std::sregex_iterator test(text.begin(), text.end(), kTest), end; test != end; ++test) {
      ++tests;
      EXPECT_LE(count_words((*test)[1].str()), kWordsMax) << file << ": " << (*test)[1];
    }
  }
  EXPECT_GT(tests, 1'000u);
}

TEST(RepositoryTest, EveryHeaderHasPragmaOnce) {
  for (const std::string& file : source_files()) {
    if (!file.ends_with(".h")) continue;
    const bool has = ("\n" + text_of_file(file)).find("\n#pragma once\n") != std::string::npos;
    EXPECT_TRUE(has) << file << ":1: no #pragma once";
  }
}

/// Returns the types that a file defines in namespaces with names, each with its namespaces.
std::vector<std::string> types_in(const std::string& text) {
  static const std::regex kNamespace(R"((?:inline )?namespace ?([\w:]*) \{.*)");
  static const std::regex kType(
      R"((?:class|struct|union|enum class) (\w+)(?: final)?(?: :[^:].*)? \{.*)");
  std::vector<std::string> types;
  std::vector<std::string> namespaces;
  std::istringstream in(text);
  std::smatch match;
  bool is_declaration = false;  // the line before: "class logger;"
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, kNamespace)) namespaces.push_back(match[1]);
    const bool is_end = line.starts_with("}  // namespace") || (line == "}" && is_declaration);
    if (is_end && !namespaces.empty()) namespaces.pop_back();
    is_declaration = line.starts_with("class ") && line.ends_with(';');
    const bool is_local = std::ranges::find(namespaces, "") != namespaces.end();
    if (is_local || !std::regex_match(line, match, kType)) continue;
    std::string type;
    for (const std::string& outer : namespaces) type += outer + "::";
    types.push_back(type + match[1].str());
  }
  return types;
}

// The linker would take the destructor of one of them for both.
TEST(RepositoryTest, NoTypeIsDefinedTwice) {
  std::map<std::string, std::string> files;  // by type
  for (const std::string& file : source_files()) {
    if (file.starts_with("tests/")) continue;
    for (const std::string& type : types_in(text_of_file(file))) {
      const auto [known, is_new] = files.emplace(type, file);
      EXPECT_TRUE(is_new) << file << " and " << known->second << " define " << type;
    }
  }
  EXPECT_TRUE(files.contains("rushgate::Sale"));
}

// Those of tests/ run in other programs.
TEST(RepositoryTest, EveryLuaFileIsIncluded) {
  std::string text;
  for (const std::string& file : files_with({".h", ".cc", ".lua"})) text += text_of_file(file);
  for (const std::string& file : files_with({".lua"})) {
    if (file.starts_with("tests/")) continue;
    const std::string name = fs::path(file).filename().string();
    const bool is_included = text.find("#include \"" + file + ".h\"") != std::string::npos ||
                             text.find("-- #include \"" + file + "\"") != std::string::npos ||
                             text.find("-- #include \"" + name + "\"") != std::string::npos;
    EXPECT_TRUE(is_included) << file;
  }
}

}  // namespace
}  // namespace rushgate::structure
