// The end of an operation: its replies go to its submitter.
#pragma once

#include <memory>
#include <string_view>

#include "engine/redis/executor/operation.h"
#include "engine/redis/executor/service_thread.h"

namespace rushgate {

/// Thread-safe.
class ReplySender {
 public:
  explicit ReplySender(ServiceThread& service) : service_(service) {}

  /// Sends the replies of a finished operation: wakes its submitter, or leaves its completion to
  /// the service thread. The operation may be gone afterwards.
  void send(Operation& operation) {
    if (operation.completion != nullptr) {
      return service_.complete(std::unique_ptr<Operation>(&operation));
    }
    const bool submitter_serves = operation.submitter_serves;
    operation.state.report_replies();
    if (submitter_serves) service_.kick();
  }

  /// Ends an operation with `error` as the reply to each request that has none.
  void refuse(Operation& operation, std::string_view error) {
    operation.fail_rest(error);
    send(operation);
  }

 private:
  ServiceThread& service_;
};

}  // namespace rushgate
