#include "tests/support/patterns.h"

#include <regex>

namespace rushgate::testing {

std::vector<std::string> find_all(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  for (const std::vector<std::string>& groups : find_groups(text, pattern)) {
    found.push_back(groups.at(groups.size() > 1 ? 1 : 0));
  }
  return found;
}

std::vector<std::vector<std::string>> find_groups(const std::string& text,
                                                  const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::vector<std::string>> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.emplace_back(at->begin(), at->end());
  }
  return found;
}

std::string replace_all(const std::string& text, const std::string& pattern,
                        const std::string& replacement) {
  return std::regex_replace(text, std::regex(pattern), replacement);
}

}  // namespace rushgate::testing
