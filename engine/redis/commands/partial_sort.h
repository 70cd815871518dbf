// A sort of which only the beginning is needed. Equal elements come in the same order as from
// Redis, which uses the quicksort of Bentley and McIlroy, "Engineering a Sort Function" (1993).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace rushgate {

/// Sorts elements by `order`, a function that returns a number below, equal to or above 0.
template <class T, class Order>
class PartialSort {
 public:
  explicit PartialSort(Order order) : order_(order) {}

  /// Puts the first `count` of the sorted elements in front. The others have any order.
  void sort(std::span<T> elements, std::size_t count) { sort(elements, count, kDepthMax); }

 private:
  /// Unusual elements, of more uneven parts, are sorted by another algorithm. So the stack is
  /// bounded.
  static constexpr int kDepthMax = 200;

  void sort(std::span<T> part, std::size_t count, int depth) {
    for (; part.size() >= 7; --depth) {
      if (depth == 0) return sort_otherwise(part);
      std::swap(part[0], part[pivot(part)]);
      const auto [less, greater] = partition(part);
      if (less > 1 && count > 0) sort(part.first(less), count, depth - 1);
      const std::size_t end = part.size() - greater;
      if (greater <= 1 || count <= end) return;
      count -= end;
      part = part.last(greater);
    }
    insertion_sort(part);
  }

  void sort_otherwise(std::span<T> part) {
    std::stable_sort(part.begin(), part.end(),
                     [this](const T& a, const T& b) { return order_(a, b) < 0; });
  }

  void insertion_sort(std::span<T> part) {
    for (std::size_t i = 1; i < part.size(); ++i) {
      for (std::size_t j = i; j > 0 && order_(part[j - 1], part[j]) > 0; --j)
        std::swap(part[j - 1], part[j]);
    }
  }

  /// Returns the position of the median of three elements, or of three such medians.
  std::size_t pivot(std::span<const T> part) const {
    const std::size_t size = part.size();
    std::size_t first = 0;
    std::size_t middle = size / 2;
    std::size_t last = size - 1;
    if (size == 7) return middle;
    if (size > 40) {
      const std::size_t step = size / 8;
      first = median(part, first, first + step, first + 2 * step);
      middle = median(part, middle - step, middle, middle + step);
      last = median(part, last - 2 * step, last - step, last);
    }
    return median(part, first, middle, last);
  }

  std::size_t median(std::span<const T> part, std::size_t a, std::size_t b, std::size_t c) const {
    if (order_(part[a], part[b]) < 0) {
      if (order_(part[b], part[c]) < 0) return b;
      return order_(part[a], part[c]) < 0 ? c : a;
    }
    if (order_(part[b], part[c]) > 0) return b;
    return order_(part[a], part[c]) < 0 ? a : c;
  }

  /// Divides the elements into less ones, equal ones and greater ones than the first. Returns the
  /// numbers of less and greater ones.
  std::pair<std::size_t, std::size_t> partition(std::span<T> part) {
    // Equal elements are collected at both ends: [0, equal) and [tail, size). The unknown ones are
    // in [low, high).
    std::size_t equal = 1;
    std::size_t low = 1;
    std::size_t high = part.size();
    std::size_t tail = part.size();
    while (true) {
      for (int sign = 0; low < high && (sign = order_(part[low], part[0])) <= 0; ++low) {
        if (sign == 0) std::swap(part[equal++], part[low]);
      }
      for (int sign = 0; low < high && (sign = order_(part[high - 1], part[0])) >= 0; --high) {
        if (sign == 0) std::swap(part[high - 1], part[--tail]);
      }
      if (low >= high) break;
      std::swap(part[low++], part[--high]);
    }
    const std::size_t less = low - equal;
    const std::size_t greater = tail - high;
    swap_blocks(part, 0, low, std::min(equal, less));
    swap_blocks(part, low, part.size(), std::min(greater, part.size() - tail));
    return {less, greater};
  }

  /// Swaps the `count` elements from `first` on with those before `end`.
  static void swap_blocks(std::span<T> part, std::size_t first, std::size_t end,
                          std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) std::swap(part[first + i], part[end - count + i]);
  }

  Order order_;
};

}  // namespace rushgate
