#include "tests/unit/sale/documents.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace rushgate {

std::string document(const std::string& file) {
  std::ifstream in(RUSHGATE_ROOT "/" + file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace rushgate
