#include "engine/base/process_info.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

constexpr std::size_t kMebi = 1'024 * 1'024;

/// Allocates `bytes` in small blocks, and frees them.
void use(std::size_t bytes) {
  constexpr std::size_t kBlockBytes = 1'000;
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t i = 0; i < bytes / kBlockBytes; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlockBytes));
  }
}

TEST(ProcessInfoTest, FreedMemoryIsReturnedFromHeapsOfThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  bound_free_memory();
  const std::uint64_t before = resident_bytes().value();
  std::uint64_t after = 0;
  std::thread([&after] {
    std::make_unique<char[]>(30 * kMebi);  // large: malloc would keep twice as much from now on
    use(50 * kMebi);
    release_free_memory();
    after = resident_bytes().value();
  }).join();
  EXPECT_LT(after, before + 20 * kMebi);
}

}  // namespace
}  // namespace rushgate
