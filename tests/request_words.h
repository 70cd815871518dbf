// Requests as one reads them.
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/client/request.h"

namespace rushgate::testing {

/// The request of these words, which single spaces separate.
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
