#include "apps/strategies/strategy.h"

namespace rushgate::strategies {

void Strategy::publish() { OrderFile(setting_.dir).create(setting_.stock); }

std::int64_t Strategy::stock_left() { return OrderFile(setting_.dir).stock(); }

}  // namespace rushgate::strategies
