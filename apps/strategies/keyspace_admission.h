// Admission in the keyspace, for strategies that decide there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/strategies/strategy.h"
#include <rushgate/script.h>

namespace rushgate::strategies {

/// A strategy whose stock is a key, or one for each shard.
class KeyspaceStrategy : public Strategy {
 public:
  explicit KeyspaceStrategy(const Setting& setting, int shards = 1)
      : Strategy(setting), shards_(shards) {}

  void publish() override;
  std::int64_t stock_left() override;

 protected:
  /// Runs a script of admission_script() on the user's shard. `key` is the third key.
  Decision admit(Client& client, const Script& script, std::string_view key, std::int64_t user,
                 std::string_view order);

 private:
  /// Returns the name of a shard's key. A single shard has those of the setting.
  [[nodiscard]] std::string on_shard(std::string key, int shard) const;

  const int shards_;
};

/// Returns the field's admission script, followed by `then`: Lua commands that pass on an accepted
/// order. KEYS: stock, buyers, and one for `then`. ARGV: the user, and the argument of `then`.
Script admission_script(std::string_view then);

}  // namespace rushgate::strategies
