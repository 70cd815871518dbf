#include <new>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include <rushgate/ids.h>

namespace rushgate {

// Spare ids are worth no wait: a list that another thread is using counts as full, and as empty.

void SpareIds::add(std::span<const std::int64_t> ids) {
  List& list = mine();
  if (!list.try_take()) return;
  const absl::Cleanup release = [&list] { list.release(); };
  const std::int64_t first = first_.load(std::memory_order_relaxed);
  try {
    // In this order, so that the smallest one is given first.
    for (auto id = ids.rbegin(); id != ids.rend() && list.ids.size() < kIdsMax; ++id) {
      if (*id >= first) list.ids.push_back(*id);
    }
  } catch (const std::bad_alloc&) {  // the rest is lost, which does no harm
  }
}

std::size_t SpareIds::take(std::span<std::int64_t> ids, std::int64_t first) {
  List& list = mine();
  if (!list.try_take()) return 0;
  std::size_t taken = 0;
  while (taken < ids.size() && !list.ids.empty()) {
    const std::int64_t id = list.ids.back();
    list.ids.pop_back();
    if (id >= first) ids[taken++] = id;
  }
  list.release();
  return taken;
}

void SpareIds::forget(std::int64_t first) {
  first_.store(first, std::memory_order_relaxed);
  for (List& list : lists_) {
    while (!list.try_take()) std::this_thread::yield();
    std::erase_if(list.ids, [first](std::int64_t id) { return id < first; });
    list.release();
  }
}

}  // namespace rushgate
