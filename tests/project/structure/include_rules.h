// The include rules of the modules: the direction of dependencies, as a table and a checker.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate::structure {

/// One include that breaks a rule.
struct Violation {
  std::string file;  // as passed
  std::size_t line;  // from 1
  std::string rule;
};

/// Checks every #include in the contents of a file. `file` is a path from the root of the
/// repository.
std::vector<Violation> check_includes(std::string_view file, std::string_view text);

}  // namespace rushgate::structure
