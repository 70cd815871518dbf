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
    list.ids.insert(list.ids.end(), ids.rbegin(), ids.rend() - static_cast<std::ptrdiff_t>(begin));
  } catch (const std::bad_alloc&) {  // they are lost, which does no harm
  }
}

std::size_t SpareIds::take(std::span<std::int64_t> ids, std::int64_t first) {
  List& list = mine();
  if (!list.try_take()) return 0;
  first = std::max(first, first_.load(std::memory_order_relaxed));
  const std::size_t count = std::min(ids.size(), list.ids.size());
  std::copy_n(list.ids.rbegin(), count, ids.begin());
  list.ids.resize(list.ids.size() - count);
  list.release();
  const std::span<std::int64_t> taken = ids.first(count);
  const auto end =
      std::remove_if(taken.begin(), taken.end(), [first](auto id) { return id < first; });
  return static_cast<std::size_t>(end - taken.begin());
}

}  // namespace rushgate
