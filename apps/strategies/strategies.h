// The classic ways to sell a voucher, in historical order. Each has its own file: <name>.cc.
#pragma once

#include <string_view>
#include <vector>

#include "apps/strategies/strategy.h"

namespace rushgate::strategies {

StrategyKind read_then_write();     // a
StrategyKind version_check();       // b
StrategyKind stock_check();         // c
StrategyKind database_lock();       // d
StrategyKind user_mutex();          // e
StrategyKind lock_without_owner();  // f
StrategyKind lock_with_owner();     // g
StrategyKind renewed_lock();        // h
StrategyKind pipeline();            // i
StrategyKind process_queue();       // j
StrategyKind popped_list();         // k1
StrategyKind moved_list();          // k2
StrategyKind channel();             // l
StrategyKind stream_from_now();     // m
StrategyKind stream_group();        // n
StrategyKind rushgate_sale();       // o
StrategyKind sharded_stock();       // p
StrategyKind split_voucher();       // q

/// Returns all of them, in this order.
const std::vector<StrategyKind>& all_strategies();
/// Returns null if no strategy has this letter.
const StrategyKind* find_strategy(std::string_view letter);

}  // namespace rushgate::strategies
