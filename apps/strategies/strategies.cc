#include "apps/strategies/strategies.h"

#include <algorithm>

namespace rushgate::strategies {

const std::vector<StrategyKind>& all_strategies() {
  static const std::vector<StrategyKind> kAll = {
      read_then_write(),    version_check(),   stock_check(),   database_lock(),   user_mutex(),
      lock_without_owner(), lock_with_owner(), renewed_lock(),  pipeline(),        process_queue(),
      popped_list(),        moved_list(),      channel(),       stream_from_now(), stream_group(),
      rushgate_sale(),      sharded_stock(),   split_voucher(),
  };
  return kAll;
}

const StrategyKind* find_strategy(std::string_view letter) {
  const auto& all = all_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const StrategyKind& kind) { return kind.letter == letter; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace rushgate::strategies
