// One submission on its way to the server and back. Private to this module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

class Lease;
class RedisSession;

inline constexpr std::string_view kNotBegunInTime = "the request had not begun at its deadline";

/// The way of a submission to the server.
enum class Route : std::uint8_t {
  kShared,  // on the shared connection
  kLeased,  // on a connection of its own while it runs
  kOwn,     // on the connection that its client owns
};

/// One or more requests of one client, sent in order over one connection. The submitter keeps the
/// requests until the submission has finished. Until then it belongs to the connection.
class Submission {
 public:
  explicit Submission(std::span<const Request> its_requests);
  virtual ~Submission() = default;
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  /// Called once, before the first request is sent.
  virtual void prepare() {}
  /// Called once, when every request has its reply, before the submission leaves the queue.
  virtual void note_replies() {}
  /// Called once, after note_replies(), with no lock held. May delete the submission.
  virtual void finish() = 0;
  /// Returns true if nobody waits for the replies, so that a blocking command must report its begin.
  [[nodiscard]] virtual bool announces_begin() const { return false; }
  /// Makes a blocking command report its begin by first_reply(). Returns false if that is not needed.
  virtual bool announce_begin() { return false; }
  /// Called on the I/O thread after the first of several replies.
  virtual void first_reply() {}

  [[nodiscard]] bool is_complete() const { return replies.size() == requests.size(); }
  /// Sets this error as every missing reply.
  void fail_rest(std::string_view code, std::string_view reason);
  [[nodiscard]] std::vector<Reply> take_replies();

  // ---- Constant once submitted ----
  std::span<const Request> requests;
  std::size_t bytes = 0;         // of the requests
  std::int64_t deadline_ms = 0;  // monotonic; expires if nothing was sent by then; 0: never
  std::shared_ptr<RedisSession> session;  // notified at the end; null: none
  Route route = Route::kShared;
  bool is_part = false;     // its whole was admitted to the queue, and has the deadline
  bool is_counted = false;  // counted by the session on the shared connection

  [[nodiscard]] bool has_expired(std::int64_t now_ms) const {
    return deadline_ms != 0 && deadline_ms <= now_ms;
  }

  // ---- Of its connection ----
  absl::InlinedVector<Reply, 1> replies;
  std::size_t encoded = 0;       // requests that were encoded
  Submission* next = nullptr;    // in a SubmissionList
  std::shared_ptr<Lease> lease;  // of its own connection
};

/// A queue of submissions, linked by `next`. Does not own them.
class SubmissionList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] Submission* front() const { return first_; }
  void push_back(Submission& submission) {
    submission.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &submission;
    last_ = &submission;
  }
  Submission& pop_front() {
    Submission& submission = *first_;
    first_ = submission.next;
    return submission;
  }
  /// Moves all of `other` to the end of this one.
  void splice(SubmissionList& other) {
    if (other.empty()) return;
    (first_ == nullptr ? first_ : last_->next) = other.first_;
    last_ = other.last_;
    other.first_ = nullptr;
  }
  /// Removes and returns submissions whose deadline has passed.
  [[nodiscard]] SubmissionList take_expired(std::int64_t now_ms);

 private:
  Submission* first_ = nullptr;
  Submission* last_ = nullptr;
};

}  // namespace rushgate
