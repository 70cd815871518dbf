// Rules for the language of comments, documents and test names, as tables and their checker.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate::structure {

/// One place that breaks a rule.
struct Lapse {
  std::string file;  // as it was given
  std::size_t line;  // from 1
  std::string rule;
};

/// Returns every banned word in the prose of `contents`, and every test name that is too long.
/// `file` is a path from the root of the repository; its extension says where the prose stands:
///
/// - .h and .cc: in comments and in test names,
/// - .md: everywhere except in code,
/// - other files (CMake, shell): everywhere.
std::vector<Lapse> check_language(std::string_view file, std::string_view contents);

}  // namespace rushgate::structure
