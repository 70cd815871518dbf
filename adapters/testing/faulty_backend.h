// A backend behind a network that loses, delays and repeats requests and replies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "adapters/testing/forwarding_backend.h"

namespace rushgate::faults {

/// Forwards requests to another backend, with the faults that a test chooses. Thread-safe if the
/// test's functions are.
class FaultyBackend final : public testing::ForwardingBackend {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kRequestLost,  // is not executed; the reply is CLOSED
    kReplyLost,    // is executed; the reply is OUTCOMEUNKNOWN
    kReplyLate,    // is executed; the caller gets the reply after before_late_reply()
    kSentTwice,    // is executed twice; the caller gets the second reply
  };
  /// Chooses the fault of a request, on the thread that makes the request.
  using Choose = std::function<Fault(const Request&)>;
  /// Runs between the execution of a request and its late reply, on the thread that gets the reply.
  using BeforeLateReply = std::function<void(const Request&)>;

  /// `inner` must outlive this.
  FaultyBackend(Backend& inner, Choose choose, BeforeLateReply before_late_reply = {});

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;

 private:
  const Choose choose_;
  const BeforeLateReply before_late_reply_;
};

}  // namespace rushgate::faults
