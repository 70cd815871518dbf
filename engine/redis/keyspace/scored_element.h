// An element of a sorted set, as it is read.
#pragma once

#include <string_view>

namespace rushgate {

/// A view: valid until the sorted set changes.
struct ScoredElement {
  std::string_view member;
  double score;  // not NaN

  /// Orders by score, then by the member's bytes.
  [[nodiscard]] bool is_before(const ScoredElement& other) const {
    if (score != other.score) return score < other.score;
    return member < other.member;
  }
};

}  // namespace rushgate
