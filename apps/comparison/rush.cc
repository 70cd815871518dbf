#include "apps/comparison/rush.h"

#include <cstddef>
#include <numeric>
#include <random>
#include <utility>

namespace rushgate::comparison {

std::vector<std::int64_t> make_clicks(std::int64_t users, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(users));
  std::iota(order.begin(), order.end(), std::int64_t{1});
  // std::shuffle differs between libraries.
  std::mt19937_64 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  std::vector<std::int64_t> clicks;
  for (const std::int64_t user : order) clicks.insert(clicks.end(), 2, user);
  return clicks;
}

}  // namespace rushgate::comparison
