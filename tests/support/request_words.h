// Requests written as one string.
#pragma once

#include <algorithm>
#include <string_view>

#include <rushgate/request.h>

namespace rushgate::testing {

/// Returns the request with these words, separated by single spaces.
inline Request request_of(std::string_view words) {
  Request request;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    request.add(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return request;
}

}  // namespace rushgate::testing
