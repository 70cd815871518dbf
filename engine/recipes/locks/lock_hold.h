// The hold of one owner on a lock.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "engine/recipes/locks/lock_kind.h"

namespace rushgate {

/// An owner may hold both sides of a ReadWriteLock: they count as two.
struct LockHold {
  std::string name;
  LockKind kind = LockKind::kPlain;
  std::uint64_t owner = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy means the comparison with 0 that this implies
  friend auto operator<=>(const LockHold&, const LockHold&) = default;
};

}  // namespace rushgate
