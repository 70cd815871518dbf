#include <algorithm>
#include <cstddef>
#include <new>

#include "absl/cleanup/cleanup.h"
#include <rushgate/ids.h>

namespace rushgate {

// Spare ids are worth no wait: a list that another thread is using counts as full, and as empty.

void SpareIds::add(std::span<const std::int64_t> ids) {
  List& list = mine();
  if (!list.try_take()) return;
  const absl::Cleanup release = [&list] { list.release(); };
  const std::size_t space = kIdsMax - list.ids.size();
  const std::size_t begin = ids.size() - std::min(ids.size(), space);
  try {
    // In this order, so that the smallest one is given first.
    for (std::size_t i = ids.size(); i > begin; --i) list.ids.push_back(ids[i - 1]);
  } catch (const std::bad_alloc&) {  // they are lost, which does no harm
  }
}

std::size_t SpareIds::take(std::span<std::int64_t> ids, std::int64_t first) {
  List& list = mine();
  if (!list.try_take()) return 0;
  first = std::max(first, first_.load(std::memory_order_relaxed));
  std::size_t count = 0;
  while (count < ids.size() && !list.ids.empty()) {
    const std::int64_t id = list.ids.back();
    list.ids.pop_back();
    if (id >= first) ids[count++] = id;
  }
  list.release();
  return count;
}

}  // namespace rushgate
