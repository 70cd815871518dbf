#include <rushgate/ids.h>

namespace rushgate {

void SpareIds::add(std::span<const std::int64_t> ids) {
  List& list = mine();
  const std::lock_guard lock(list.mutex);
  const std::int64_t first = first_.load(std::memory_order_relaxed);
  // In this order, so that the smallest one is given first.
  for (auto id = ids.rbegin(); id != ids.rend() && list.ids.size() < kIdsMax; ++id) {
    if (*id >= first) list.ids.push_back(*id);
  }
  list.size.store(list.ids.size(), std::memory_order_relaxed);
}

std::size_t SpareIds::take(std::span<std::int64_t> ids, std::int64_t first) {
  List& list = mine();
  const std::lock_guard lock(list.mutex);
  std::size_t taken = 0;
  while (taken < ids.size() && !list.ids.empty()) {
    const std::int64_t id = list.ids.back();
    list.ids.pop_back();
    if (id >= first) ids[taken++] = id;
  }
  list.size.store(list.ids.size(), std::memory_order_relaxed);
  return taken;
}

void SpareIds::forget(std::int64_t first) {
  first_.store(first, std::memory_order_relaxed);
  for (List& list : lists_) {
    const std::lock_guard lock(list.mutex);
    std::erase_if(list.ids, [first](std::int64_t id) { return id < first; });
    list.size.store(list.ids.size(), std::memory_order_relaxed);
  }
}

}  // namespace rushgate
