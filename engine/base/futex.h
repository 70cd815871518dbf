// A 32-bit word that threads can sleep on, with a timeout (which std::atomic::wait lacks).
#pragma once

#include <atomic>
#include <cstdint>

namespace rushgate {

/// Sleeps while `word` is `expected`, at most `timeout_ms` (negative: no bound). May return early:
/// look again.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ms);

/// Wakes those who sleep on `word`. The word may be gone already: only its address counts.
void futex_wake(std::atomic<std::uint32_t>* word);

}  // namespace rushgate
