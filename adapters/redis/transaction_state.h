// Whether a transaction is open on a connection. Private to this module.
#pragma once

#include "engine/core/client/command_traits.h"

namespace rushgate {

/// Follows the requests of one connection. A value type.
struct TransactionState {
  bool in_transaction = false;  // after MULTI
  bool is_watching = false;     // after WATCH

  /// Returns true if the next requests must follow on the same connection.
  [[nodiscard]] bool is_open() const { return in_transaction || is_watching; }

  void note(ConnectionUse use) {
    switch (use) {
      case ConnectionUse::kWatches:
        is_watching = true;
        break;
      case ConnectionUse::kUnwatches:
        is_watching = is_watching && in_transaction;
        break;
      case ConnectionUse::kBeginsTransaction:
        in_transaction = true;
        break;
      case ConnectionUse::kEndsTransaction:
        *this = {};
        break;
      default:
        break;
    }
  }
};

}  // namespace rushgate
