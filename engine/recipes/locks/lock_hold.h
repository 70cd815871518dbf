// A lock as one owner holds it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "engine/recipes/locks/lock_kind.h"

namespace rushgate {

/// An owner may hold both sides of a ReadWriteLock: these are two.
struct LockHold {
  std::string name;
  LockKind kind = LockKind::kPlain;
  std::uint64_t owner = 0;

  friend auto operator<=>(const LockHold&, const LockHold&) = default;
};

}  // namespace rushgate
