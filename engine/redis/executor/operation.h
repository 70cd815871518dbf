// One submission in the executor: one or more requests of one client, run in order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "engine/redis/commands/session.h"
#include "engine/redis/executor/executor_errors.h"
#include "engine/redis/executor/operation_state.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// A bound on the memory of replies. The request that reaches the bound is the last to run.
struct ReplyBudget {
  std::size_t bytes_left;           // of one operation
  std::size_t* bytes_left_for_all;  // of several operations

  [[nodiscard]] bool is_spent() const { return bytes_left == 0 || *bytes_left_for_all == 0; }
  void charge(std::size_t bytes) {
    bytes_left -= std::min(bytes, bytes_left);
    *bytes_left_for_all -= std::min(bytes, *bytes_left_for_all);
  }
};

/// Owned by its submitter until it is queued, then by the executor until its replies are complete.
struct Operation {
  enum class Kind : std::uint8_t {
    kRequests,
    kUnblock,     // no request: times out the blocked requests of the session
    kEndSession,  // no request: ends the session
  };
  using Replies = absl::InlinedVector<Reply, 1>;
  using Completion = absl::AnyInvocable<void(Replies, int protocol)>;

  // ---- The requests: constant once submitted ----
  Session* session = nullptr;
  std::span<const Request> requests;
  std::int64_t deadline_ms =
      0;                  // monotonic; no request of the operation begins after it. 0: no deadline
  Completion completion;  // called on the service thread; null: a thread sleeps on `state`
  std::vector<Request> owned_requests;     // owns the requests, if no other object does
  std::shared_ptr<Session> owned_session;  // owns `session`, if no other object does
  Kind kind = Kind::kRequests;
  ReplyBudget* reply_budget = nullptr;  // null: no bound
  bool returns_when_paused = false;  // CLIENT PAUSE ends it; its submitter keeps the other requests
  bool submitter_serves = false;     // the service thread in a callback: a reply kicks it

  // ---- The replies ----
  Replies replies;
  int protocol = 2;  // the session's protocol after the last request
  OperationState state;
  std::atomic<bool> takes_turn{false};  // its submitter waits only for it: the turn
                                        // may be handed to it

  // ---- While it runs: guarded by the turn ----
  std::size_t batch_begin = 0;  // replies of the current commit batch start here
  bool in_batch = false;        // belongs to the current commit batch
  bool is_blocked = false;      // its current request waits for a key
  Operation* next_in_batch = nullptr;
  Operation* next = nullptr;  // next resumed operation, or next with a completion to call

  [[nodiscard]] bool finished() const { return replies.size() == requests.size(); }

  /// Removes the requests that have no reply.
  void drop_rest() { requests = requests.first(replies.size()); }

  /// Returns true if a reply is allowed without a waiting thread. If not, ends the client.
  [[nodiscard]] bool takes_reply() const {
    if (completion == nullptr || requests.empty()) return true;
    return session->outlet == nullptr || session->is_protected || session->outlet->takes_reply();
  }

  /// Appends the reply to the next request, which CLIENT REPLY may suppress.
  void add_reply(Reply&& reply) {
    ++session->replies;
    replies.push_back(std::move(reply));
    Reply& added = replies.back();
    // The confirmations of SUBSCRIBE and its like are never suppressed.
    if (suppresses_reply(*session) && added.kind() != Reply::Kind::kSeveral) added = no_reply();
    const bool is_awaited = completion == nullptr;
    if (!is_awaited && session->outlet != nullptr) session->outlet->note_reply(added);
  }

  /// Replies `error` to all remaining requests. Throws nothing after
  /// reserve_replies().
  void fail_rest(std::string_view error) {
    while (!finished()) replies.push_back(executor_errors::reply(error));
  }

  /// Reserves memory for the replies. Called before the operation is queued, so that an
  /// out-of-memory error can be replied.
  void reserve_replies() { replies.reserve(requests.size()); }
};

/// A queue of operations, linked by the member `Next`. Appending needs no memory. Does not own
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
  /// Removes and returns the first operation; null if there is none.
  Operation* pop_front() {
    Operation* const operation = first_;
    if (operation != nullptr) first_ = operation->*Next;
    return operation;
  }
  /// Calls visit(Operation&) for each, first to last.
  template <class Visit>
  void for_each(Visit visit) const {
    for (Operation* each = first_; each != nullptr; each = each->*Next) visit(*each);
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

}  // namespace rushgate
