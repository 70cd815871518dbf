// Applies the rules of include_rules.h to the files of this repository.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/project/structure/include_rules.h"

namespace rushgate::structure {
namespace {

namespace fs = std::filesystem;

/// Returns all .h and .cc files of the project as sorted paths from its root.
std::vector<std::string> source_files() {
  const fs::path root = RUSHGATE_ROOT;
  std::vector<std::string> files;
  for (const char* const part : {"engine", "storage", "adapters", "apps", "tests"}) {
    if (!fs::exists(root / part)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      files.push_back(entry.path().lexically_relative(root).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

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

TEST(RepositoryTest, EveryHeaderHasPragmaOnce) {
  for (const std::string& file : source_files()) {
    if (!file.ends_with(".h")) continue;
    const bool has = ("\n" + text_of_file(file)).find("\n#pragma once\n") != std::string::npos;
    EXPECT_TRUE(has) << file << ":1: no #pragma once";
  }
}

}  // namespace
}  // namespace rushgate::structure
