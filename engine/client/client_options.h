// Options of a session.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/client/reply.h"
#include "engine/client/wait_method.h"

namespace rushgate {

/// A value type. All backends interpret it in the same way.
struct ClientOptions {
  bool fail_when_full = false;        // return OVERLOADED if the queue is full, do not wait
  std::int64_t queue_timeout_ms = 0;  // return TIMEDOUT if a request has not begun by then,
                                      // queued or waiting for space in the queue; 0: no limit
  int protocol = 2;                   // kinds of replies: RESP2's or 3's
  /// Receives the messages of the subscribed channels, in the form of the protocol. Runs as
  /// completions do. If empty, the client cannot subscribe.
  std::function<void(Reply)> on_message = {};
  /// Suspends the callers of call(), pipeline() and run(). Not owned. If null, the calling
  /// thread sleeps; with fiber_wait() of fiber_wait.h, only the calling fiber does. Two
  /// calls block the whole thread in any case: sync(), and a submission while the queue is
  /// full.
  const WaitMethod* wait = nullptr;
};

}  // namespace rushgate
