// The port for suspending the callers of a client. fiber_wait.h implements it for Boost.Fiber.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace rushgate {

/// Suspends callers. Thread-safe and immutable.
class WaitMethod {
 public:
  /// Ends one wait. Lives on the stack of the waiting caller.
  class Event {
   public:
    /// Resumes the caller. May be called on any thread, once. The event is destroyed afterwards.
    virtual void happen() = 0;

   protected:
    ~Event() = default;
  };

  virtual ~WaitMethod() = default;

  /// Calls `begin` with an event, then suspends the caller until the event has happened.
  virtual void wait(absl::FunctionRef<void(Event&)> begin) const = 0;

  /// Returns the number of the calling thread or fiber (caller_number.h).
  [[nodiscard]] virtual std::uint64_t caller_number() const = 0;
};

}  // namespace rushgate
