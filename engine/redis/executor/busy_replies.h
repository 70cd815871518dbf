// Replies to clients while a script exceeds its time limit.
#pragma once

#include "absl/functional/function_ref.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/operation_queue.h"
#include "engine/redis/executor/reply_sender.h"
#include "engine/redis/script/script_call.h"

namespace rushgate {

/// Belongs to the thread that holds the turn, which runs the script.
class BusyReplies final : public BusyMonitor {
 public:
  BusyReplies(CommandServices& services, OperationQueue& queue, ReplySender& sender)
      : services_(services), queue_(queue), sender_(sender) {}

  /// A function of this thread, called by each poll() on it during the lifetime of this object. At
  /// most one per thread.
  class WhileBusy {
   public:
    explicit WhileBusy(const absl::FunctionRef<void()>& function) { of_this_thread_ = &function; }
    ~WhileBusy() { of_this_thread_ = nullptr; }
    WhileBusy(const WhileBusy&) = delete;
    WhileBusy& operator=(const WhileBusy&) = delete;

   private:
    friend BusyReplies;
    static inline constinit thread_local const absl::FunctionRef<void()>* of_this_thread_ = nullptr;
  };

  /// Replies to the queued operations.
  bool poll() override;
  /// Runs the requests of an operation, of which all but a few (SCRIPT KILL) get the reply BUSY,
  /// and sends its replies.
  void reply(Operation& operation);

 private:
  CommandServices& services_;
  OperationQueue& queue_;
  ReplySender& sender_;
};

}  // namespace rushgate
