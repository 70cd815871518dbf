// The patterns of SORT's options BY and GET: https://redis.io/docs/latest/commands/sort/
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/redis/keyspace/database.h"

namespace rushgate {

/// Denotes a key, or a field of a hash (`weight_*->field`), by an element in the place of the '*'.
/// Valid as long as the argument.
class SortPattern {
 public:
  explicit SortPattern(std::string_view argument);

  /// Returns true for '#', which denotes the element itself.
  [[nodiscard]] bool is_element() const { return is_element_; }
  /// Returns false without a '*': the pattern denotes nothing then.
  [[nodiscard]] bool has_star() const { return has_star_; }
  /// Returns the string that it denotes; empty if there is none.
  [[nodiscard]] std::optional<std::string> find(Database& db, std::string_view element) const;

 private:
  bool is_element_;
  bool has_star_;
  std::string_view prefix_;
  std::string_view suffix_;
  std::optional<std::string_view> field_;
};

}  // namespace rushgate
