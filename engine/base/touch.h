// Fetching memory before it is needed.
#pragma once

#include <cstddef>

namespace rushgate {

/// Reads the byte at `at`, so that what lies there is at hand later. The processor does not wait
/// for it, and waits for several of them at once. (A mere request to fetch it would be dropped if
/// its page had to be looked up first.)
inline void touch(const void* at) {
  static_cast<void>(*static_cast<const volatile std::byte*>(at));
}

}  // namespace rushgate
