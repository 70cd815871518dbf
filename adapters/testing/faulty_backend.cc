#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

using Fault = FaultyBackend::Fault;

Reply closed() { return Reply::error("CLOSED injected fault: the request was lost"); }
Reply unknown() { return Reply::error("OUTCOMEUNKNOWN injected fault: the reply was lost"); }

class FaultyClient final : public ForwardingClient {
 public:
  FaultyClient(std::unique_ptr<Client> client, FaultyBackend::Choose choose,
               FaultyBackend::BeforeLateReply before_late_reply)
      : ForwardingClient(std::move(client)),
        choose_(std::move(choose)),
        before_late_reply_(std::move(before_late_reply)) {}

  void submit(Request request, Completion completion) override {
    const Fault fault = choose_(request);
    if (fault == Fault::kRequestLost) return completion(closed());
    if (fault == Fault::kRequestLate) return completion(unknown());
    if (fault == Fault::kSentTwice) client().submit(Request(request), [](const Reply&) {});
    if (fault == Fault::kReplyLost) {
      completion = [completion = std::move(completion)](const Reply&) mutable {
        completion(unknown());
      };
    }
    if (fault == Fault::kReplyLate && before_late_reply_) {
      completion = [hook = before_late_reply_, request,
                    completion = std::move(completion)](Reply reply) mutable {
        hook(request);
        completion(std::move(reply));
      };
    }
    client().submit(std::move(request), std::move(completion));
  }

  Reply call(Request request) override {
    const Fault fault = choose_(request);
    return call_with(fault, std::move(request));
  }

  /// Without faults, the requests stay one pipeline.
  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    std::vector<Fault> chosen;
    chosen.reserve(requests.size());
    for (const Request& request : requests) chosen.push_back(choose_(request));
    if (std::ranges::all_of(chosen, [](Fault fault) { return fault == Fault::kNone; })) {
      return client().pipeline(requests);
    }
    std::vector<Reply> replies;
    replies.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      replies.push_back(call_with(chosen[i], Request(requests[i])));
    }
    return replies;
  }

 private:
  Reply call_with(Fault fault, Request request) {
    if (fault == Fault::kRequestLost) return closed();
    if (fault == Fault::kRequestLate) return unknown();
    if (fault == Fault::kSentTwice) client().call(Request(request));
    Reply reply = client().call(Request(request));
    if (fault == Fault::kReplyLost) return unknown();
    if (fault == Fault::kReplyLate && before_late_reply_) before_late_reply_(request);
    return reply;
  }

  const FaultyBackend::Choose choose_;
  const FaultyBackend::BeforeLateReply before_late_reply_;
};

}  // namespace

FaultyBackend::FaultyBackend(Backend& inner, Choose choose, BeforeLateReply before_late_reply)
    : ForwardingBackend(inner),
      choose_(std::move(choose)),
      before_late_reply_(std::move(before_late_reply)) {}

std::unique_ptr<Client> FaultyBackend::open_client(const ClientOptions& options) {
  return std::make_unique<FaultyClient>(ForwardingBackend::open_client(options), choose_,
                                        before_late_reply_);
}

std::string_view fault_name(FaultyBackend::Fault fault) {
  switch (fault) {
    case FaultyBackend::Fault::kNone:
      return "none";
    case FaultyBackend::Fault::kRequestLost:
      return "request lost";
    case FaultyBackend::Fault::kRequestLate:
      return "request late";
    case FaultyBackend::Fault::kReplyLost:
      return "reply lost";
    case FaultyBackend::Fault::kReplyLate:
      return "reply late";
    case FaultyBackend::Fault::kSentTwice:
      return "sent twice";
  }
  return "?";
}

}  // namespace rushgate::faults
