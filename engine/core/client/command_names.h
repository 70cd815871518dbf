// Finds rows of a table by the name of a command.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include <rushgate/request.h>

namespace rushgate {

/// An index over rows with a `name`: lower case; of subcommands: client|id. Immutable and
/// thread-safe.
template <class Row>
class CommandNames {
 public:
  /// `rows` must outlive it.
  explicit CommandNames(std::span<const Row> rows) {
    for (const Row& row : rows) {
      rows_.emplace(row.name, &row);
      longest_ = std::max(longest_, row.name.size());
    }
  }

  /// Returns null if there is no row of this name.
  [[nodiscard]] const Row* find(std::string_view name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : found->second;
  }
  /// Returns the row of the request's command and subcommand in any case, else that of its command;
  /// null if it has none. `request` must not be empty.
  [[nodiscard]] const Row* find(const Request& request) const {
    Name name;
    if (!append(request[0], name)) return nullptr;
    const Row* const of_command = find({name.data(), name.size()});
    if (request.size() == 1 || !append("|", name) || !append(request[1], name)) return of_command;
    const Row* const own = find({name.data(), name.size()});
    return own != nullptr ? own : of_command;
  }

 private:
  using Name = absl::InlinedVector<char, 64>;

  /// Returns false if the name is longer than those of all rows.
  bool append(std::string_view word, Name& name) const {
    if (name.size() + word.size() > longest_) return false;
    for (const char letter : word)
      name.push_back(absl::ascii_tolower(static_cast<unsigned char>(letter)));
    return true;
  }

  absl::flat_hash_map<std::string_view, const Row*> rows_;
  std::size_t longest_ = 0;
};

}  // namespace rushgate
