#include "tests/conformance/named_cases.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

std::string test_name(const std::string& family, const std::string& title) {
  std::string name = family + "_" + title;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace

std::vector<NamedCase> named_cases(const fs::path& directory) {
  std::vector<NamedCase> cases;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string family = file.stem().string();
    const std::string shown = "tests/conformance/transcripts/" + file.filename().string();
    try {
      for (Case& parsed : parse_transcript(shown, text)) {
        const std::string name = test_name(family, parsed.title);
        cases.push_back({family, name, std::move(parsed), ""});
      }
    } catch (const std::exception& error) {
      cases.push_back({family, test_name(family, "is_a_transcript"), {}, error.what()});
    }
  }
  return cases;
}

}  // namespace rushgate::testing
