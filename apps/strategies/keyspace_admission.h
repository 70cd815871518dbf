// Admission in the keyspace, for strategies that decide there.
#pragma once

#include <cstdint>
#include <string_view>

#include "apps/strategies/strategy.h"
#include <rushgate/script.h>

namespace rushgate::strategies {

/// A strategy whose stock is a key.
class KeyspaceStrategy : public Strategy {
 public:
  using Strategy::Strategy;

  void publish() override;
  std::int64_t stock_left() override;
};

/// Returns the field's admission script, followed by `then`: Lua commands that pass on an accepted
/// order. KEYS: stock, buyers, and one for `then`. ARGV: the user, and the argument of `then`.
Script admission_script(std::string_view then);

/// Runs a script of admission_script(). `key` is the third key.
Decision admit(Client& client, const Script& script, const Setting& setting, std::string_view key,
               std::int64_t user, std::string_view order);

}  // namespace rushgate::strategies
