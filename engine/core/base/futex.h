// A 32-bit word that threads can sleep on, with a timeout. (std::atomic::wait() has none.)
#pragma once

#include <atomic>
#include <cstdint>

namespace rushgate {

/// Blocks while `word` equals `expected`, for at most `timeout_ms` (negative: without limit). May
/// return early; the caller must check the word again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ms);

/// Wakes all threads that sleep on `word`. Only the address is used: it may be destroyed already.
void futex_wake(std::atomic<std::uint32_t>* word);

}  // namespace rushgate
