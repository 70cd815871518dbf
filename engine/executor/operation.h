// One submission on its way through the executor: one or more requests of one client, run in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/commands/session.h"
#include "engine/executor/executor_errors.h"
#include "engine/base/futex.h"

namespace rushgate {

/// How much memory replies may take. The request that reaches the bound is the last one that runs.
struct ReplyBudget {
  std::size_t bytes_left;           // of one operation
  std::size_t* bytes_left_for_all;  // of several operations

  [[nodiscard]] bool is_spent() const { return bytes_left == 0 || *bytes_left_for_all == 0; }
  void charge(std::size_t bytes) {
    bytes_left -= std::min(bytes, bytes_left);
    *bytes_left_for_all -= std::min(bytes, *bytes_left_for_all);
  }
};

/// Belongs to its submitter until it is queued, then to the executor until it is answered.
struct Operation {
  enum State : std::uint32_t {
    kQueued,     // nobody sleeps on it
    kSleeping,   // queued, and its submitter sleeps
    kRunning,    // has begun: it can't be abandoned any more
    kHasTurn,    // its submitter, which waits, was given the turn and is to run it
    kAnswered,   // replies are complete
    kAbandoned,  // its submitter gave up while it was queued: whoever finds it deletes it
  };
  enum class Kind : std::uint8_t {
    kRequests,
    kUnblock,  // no request: those of the session that wait are answered as if their time were up
    kEndSession,  // no request: the client is gone
  };
  using Replies = absl::InlinedVector<Reply, 1>;
  using Completion = absl::AnyInvocable<void(Replies, int protocol)>;

  // ---- What is asked: constant once submitted ----
  Session* session = nullptr;
  std::span<const Request> requests;
  std::int64_t deadline_ms =
      0;  // monotonic; if it passes before the first request has begun, none runs. 0: none
  Completion completion;  // called on the service thread; null: a thread sleeps on `state`
  std::vector<Request> owned_requests;     // what `requests` points to, if nobody else keeps it
  std::shared_ptr<Session> owned_session;  // keeps `session` alive, if nobody else does
  Kind kind = Kind::kRequests;
  ReplyBudget* reply_budget = nullptr;  // null: no bound
  bool submitter_serves = false;  // it is the service thread, in a callback: an answer kicks it

  // ---- The answer ----
  Replies replies;
  int protocol = 2;  // what the session spoke after the last of them: whose kinds are to be sent
  std::atomic<std::uint32_t> state{kQueued};
  std::atomic<bool> takes_turn{false};  // its submitter waits, and for no other operation: the turn
                                        // may be handed to it

  // ---- While it runs: guarded by the turn ----
  std::size_t group_begin = 0;  // replies of the current group start here
  bool in_group = false;        // has replies in the current group
  bool is_blocked = false;      // its current request waits for a key
  Operation* next_in_group = nullptr;
  Operation* next = nullptr;  // of those resumed, or of those whose completion is to be called

  [[nodiscard]] bool finished() const { return replies.size() == requests.size(); }

  /// Leaves the requests that have no reply without one.
  void drop_rest() { requests = requests.first(replies.size()); }

  [[nodiscard]] bool is_answered() const {
    return state.load(std::memory_order_acquire) == kAnswered;
  }

  /// Answers all that is left to answer with `error`. Throws nothing if reserve_replies() was
  /// called.
  void fail_rest(std::string_view error) {
    while (!finished()) replies.push_back(executor_errors::reply(error));
  }

  /// To be called before the operation is queued: once it runs, its replies need no memory of their
  /// own, so that it can be answered when there is none.
  void reserve_replies() { replies.reserve(requests.size()); }
};

/// Operations in a row, linked by the member `Next`: appending one needs no memory. Does not own
/// them.
template <Operation* Operation::*Next>
class OperationList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  void push_back(Operation& operation) {
    operation.*Next = nullptr;
    (first_ == nullptr ? first_ : last_->*Next) = &operation;
    last_ = &operation;
  }
  /// Null if there is none.
  Operation* pop_front() {
    Operation* const operation = first_;
    if (operation != nullptr) first_ = operation->*Next;
    return operation;
  }
  /// visit(Operation&), first to last.
  template <class Visit>
  void for_each(Visit visit) const {
    for (Operation* each = first_; each != nullptr; each = each->*Next) visit(*each);
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

}  // namespace rushgate
