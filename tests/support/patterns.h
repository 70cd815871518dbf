// Regular expressions of ECMAScript. <regex> is included in patterns.cc alone, because it costs each unit
// that uses it two seconds of compiling.
#pragma once

#include <string>
#include <vector>

namespace rushgate::testing {

/// Returns the first group of each match; the whole match if the pattern has no group.
std::vector<std::string> find_all(const std::string& text, const std::string& pattern);

/// Returns the whole match and its groups, of each match.
std::vector<std::vector<std::string>> find_groups(const std::string& text,
                                                  const std::string& pattern);

/// Returns the text with each match replaced. "$1" stands for the first group.
std::string replace_all(const std::string& text, const std::string& pattern,
                        const std::string& replacement);

}  // namespace rushgate::testing
