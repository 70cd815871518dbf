// Entries of the order stream, and those that could not be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rushgate {

/// One entry of the order stream, as XRANGE and XREADGROUP return it.
struct OrderEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;
  bool deleted = false;  // XREADGROUP of history: the entry is gone, its id is still pending

  [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
};

/// An order that could not be stored.
struct DeadLetter {
  std::string id;     // its own id, in the stream of dead letters
  std::string entry;  // the order's id, in the order stream
  std::string reason;
  OrderEntry order;               // as it was admitted, readable or not
  bool is_without_stock = false;  // the order takes no stock and is no buyer's
};

/// A discarded dead letter. Its order stays admitted, and is never stored.
struct DiscardedLetter {
  std::string id;                    // its own id, in the stream of discarded letters
  std::int64_t discarded_at_ms = 0;  // by the keyspace's time, since 1970 UTC
  std::string why;                   // as the caller gave it
  DeadLetter letter;

  /// Returns why the order is not stored, and why the letter was discarded.
  [[nodiscard]] std::string reason() const { return letter.reason + "; discarded: " + why; }
};

}  // namespace rushgate
