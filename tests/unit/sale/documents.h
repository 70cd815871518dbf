// Files of the repository that tests compare with the code.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace rushgate {

/// Returns the contents of a file, whose path begins at the root of the repository.
inline std::string document(const std::string& file) {
  std::ifstream in(RUSHGATE_ROOT "/" + file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rushgate
