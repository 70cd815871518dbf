#include "engine/core/base/process_info.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

constexpr std::size_t kMebi = 1'024 * 1'024;

/// Leaves the end of the thread's heap free, up to `bytes`, without free() noticing that it could
/// return it: its last blocks are small ones, which malloc joins with their neighbours later.
void free_end_of_heap(std::size_t bytes) {
  constexpr std::size_t kSmallBytes = 40;
  constexpr int kCached = 7;  // freed blocks of a size that a thread keeps
  std::vector<std::unique_ptr<char[]>> cached;
  for (int i = 0; i < kCached; ++i) cached.push_back(std::make_unique<char[]>(kSmallBytes));
  std::vector<std::unique_ptr<char[]>> large;
  for (std::size_t i = 0; i < bytes / kMebi; ++i) {
    large.push_back(std::make_unique<char[]>(kMebi));
  }
  std::vector<std::unique_ptr<char[]>> small;
  for (int i = 0; i < 2 * kCached; ++i) small.push_back(std::make_unique<char[]>(kSmallBytes));
  cached.clear();
  large.clear();
  small.clear();
}

/// Returns the growth of resident memory in MiB by a thread that frees all that it has allocated.
std::int64_t growth_by_thread() {
  const std::uint64_t before = resident_bytes().value();
  std::uint64_t after = 0;
  std::thread([&after] {
    std::make_unique<char[]>(30 * kMebi);  // large: malloc would keep twice as much from now on
    free_end_of_heap(60 * kMebi);
    release_free_memory();
    after = resident_bytes().value();
  }).join();
  return (static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before)) /
         static_cast<std::int64_t>(kMebi);
}

TEST(ProcessInfoTest, FreeMemoryOfThreadsIsBounded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, with an empty heap
  const auto report_growth = [] {
    bound_free_memory();  // without it: 27 MiB
    const std::int64_t growth = growth_by_thread();
    std::cerr << growth << " MiB\n";
    std::exit(growth < 16 ? EXIT_SUCCESS : EXIT_FAILURE);
  };
  EXPECT_EXIT(report_growth(), ::testing::ExitedWithCode(EXIT_SUCCESS), "");
}

}  // namespace
}  // namespace rushgate
