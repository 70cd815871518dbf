#include "tests/conformance/random/random_commands.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/sweep.h"

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kWordsShape[] = "words";  // shapes/words.txt: words for all families

std::string shape_text(const std::string& family) {
  std::ifstream in(fs::path(RUSHGATE_SHAPES) / (family + ".txt"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Grammar grammar_of(const std::string& family) {
  return Grammar::parse(family, shape_text(kWordsShape), shape_text(family));
}

std::vector<std::string> families(const std::function<bool(const Grammar&)>& condition) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(RUSHGATE_SHAPES)) {
    const std::string name = entry.path().stem().string();
    if (name != kWordsShape && condition(grammar_of(name))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::size_t commands_wanted(std::size_t usual) {
  const char* chosen = std::getenv("RUSHGATE_RANDOM_COMMANDS");
  if (chosen != nullptr) return std::strtoull(chosen, nullptr, 10);
  return is_full_run() ? usual : usual / 4;
}

std::string command_to_repeat(std::uint64_t seed) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  return "RUSHGATE_SEED=" + std::to_string(seed) + " RUSHGATE_RANDOM_COMMANDS=1 " +
         fs::read_symlink("/proc/self/exe").string() + " --gtest_filter=" + test.test_suite_name() +
         "." + test.name();
}

}  // namespace rushgate::testing
