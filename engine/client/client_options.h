// What a session may ask for when it is opened.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/client/reply.h"
#include "engine/client/wait_method.h"

namespace rushgate {

/// A value type. All backends read it in the same way.
struct ClientOptions {
  bool fail_when_full = false;        // reply OVERLOADED instead of waiting for room in the queue
  std::int64_t queue_timeout_ms = 0;  // reply TIMEDOUT if a request has not begun by then, be it
                                      // queued or still waiting for room in the queue; 0: wait
  int protocol = 2;                   // kinds of replies: RESP2's or 3's
  /// Gets the messages of channels that the client subscribes to, as the protocol has them. Runs as
  /// completions do. Empty: the client cannot subscribe.
  std::function<void(Reply)> on_message = {};
  /// Suspends the callers of call(), pipeline() and run(). Not owned. Null: the calling thread
  /// sleeps. fiber_wait() of fiber_wait.h: the calling fiber does.
  ///
  /// Two waits still block the whole thread: sync(), and a submission while the queue is full.
  const WaitMethod* wait = nullptr;
};

}  // namespace rushgate
