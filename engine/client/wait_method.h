// How the callers of a client wait for a reply: a port. fiber_wait.h has the one for Boost.Fiber.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace rushgate {

/// Suspends callers. Thread-safe and immutable.
class WaitMethod {
 public:
  /// Ends one wait. Lives on the stack of the caller that waits.
  class Event {
   public:
    /// Resumes the caller. To be called once, on any thread; the event is gone afterwards.
    virtual void happen() = 0;

   protected:
    ~Event() = default;
  };

  virtual ~WaitMethod() = default;

  /// Calls `begin` with an event, then suspends the caller until the event has happened.
  virtual void wait(absl::FunctionRef<void(Event&)> begin) const = 0;

  /// Returns the number of the caller that wait() would suspend (caller_number.h): a fiber's own.
  [[nodiscard]] virtual std::uint64_t caller_number() const = 0;
};

}  // namespace rushgate
