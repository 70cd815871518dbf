// The cases of all transcripts, as parameters of tests.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/transcript.h"

namespace rushgate::testing {

struct NamedCase {
  std::string family;  // "strings"
  std::string name;    // "strings_INCR_of_a_list"
  Case parsed;
  std::string error;  // the error of a transcript that cannot be parsed
};

inline void PrintTo(const NamedCase& named, std::ostream* out) { *out << named.name; }

/// Returns the cases of all transcripts in a directory, in the order of the files' names.
std::vector<NamedCase> named_cases(const std::filesystem::path& directory);

inline std::string name_of(const ::testing::TestParamInfo<NamedCase>& info) {
  return info.param.name;
}

}  // namespace rushgate::testing
