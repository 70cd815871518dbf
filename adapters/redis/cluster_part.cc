#include "adapters/redis/cluster_part.h"

#include <iterator>
#include <utility>

#include "adapters/redis/cluster_session.h"

namespace rushgate {

// ---- A part -------------------------------------------------------------------------------------

ClusterPart::ClusterPart(ClusterWhole& its_whole, const RequestUnit& its_unit)
    : Submission({}), whole(its_whole), unit(its_unit) {
  is_part = true;
  route = unit.route;
  deadline_ms = whole.submission().deadline_ms;
}

void ClusterPart::prepare_to_send() {
  requests = whole.submission().requests.subspan(unit.first, unit.count);
  prefixed_.clear();
  if (asks) {
    prefixed_.push_back(Request::of("ASKING"));
    prefixed_.insert(prefixed_.end(), requests.begin(), requests.end());
    requests = prefixed_;
  }
  bytes = 0;
  for (const Request& request : requests) bytes += request.bytes();
  replies.clear();
  encoded = 0;
  is_counted = false;
}

bool ClusterPart::announce_begin() {
  if (!whole.submission().announces_begin()) return false;
  if (prefixed_.empty()) prefixed_.assign(requests.begin(), requests.end());
  prefixed_.insert(prefixed_.begin(), Request::of("PING"));
  requests = prefixed_;
  return true;
}

void ClusterPart::first_reply() {
  if (session != nullptr) session->begun(*this);
}

void ClusterPart::finish() { whole.session().ended(*this); }

// ---- The whole ----------------------------------------------------------------------------------

ClusterWhole::ClusterWhole(std::shared_ptr<ClusterSession> session, Submission& submission)
    : session_(std::move(session)),
      submission_(submission),
      units_(units_of(submission.requests)),
      replies_(submission.requests.size()),
      spread_(units_.size()) {}

ClusterPart& ClusterWhole::add_part(const RequestUnit& unit) {
  left_.fetch_add(1);
  return parts_.emplace_back(*this, unit);
}

void ClusterWhole::refuse(const RequestUnit& unit, const Reply& error) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < unit.count; ++i) replies_[unit.first + i] = error;
}

void ClusterWhole::take_replies(ClusterPart& part) {
  const std::lock_guard lock(mutex_);
  const std::span<Reply> own = part.own_replies();
  if (part.unit.reach == Reach::kAllMasters) {
    return spread_[static_cast<std::size_t>(&part.unit - units_.data())].push_back(
        std::move(own.front()));
  }
  std::move(own.begin(), own.end(),
            replies_.begin() + static_cast<std::ptrdiff_t>(part.unit.first));
}

void ClusterWhole::ended(ClusterPart& part) {
  take_replies(part);
  release();
}

void ClusterWhole::release() {
  if (left_.fetch_sub(1) != 1) return;
  const std::unique_ptr<ClusterWhole> self(this);
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (spread_[i].empty()) continue;
    replies_[units_[i].first] = merged(units_[i].merge, std::move(spread_[i]));
  }
  submission_.replies.assign(std::make_move_iterator(replies_.begin()),
                             std::make_move_iterator(replies_.end()));
  submission_.note_replies();
  session_->runtime().release(submission_);
  submission_.finish();
}

}  // namespace rushgate
