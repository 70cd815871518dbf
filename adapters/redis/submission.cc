#include "adapters/redis/submission.h"

#include "adapters/redis/text.h"

namespace rushgate {

Submission::Submission(std::span<const Request> its_requests) : requests(its_requests) {
  for (const Request& request : requests) bytes += request.bytes();
}

void Submission::fail_rest(std::string_view code, std::string_view reason) {
  while (!is_complete()) replies.push_back(Reply::error(concat(code, " ", reason)));
}

std::vector<Reply> Submission::take_replies() {
  return {std::move_iterator(replies.begin()), std::move_iterator(replies.end())};
}

SubmissionList SubmissionList::take_expired(std::int64_t now_ms) {
  SubmissionList expired;
  SubmissionList kept;
  while (!empty()) {
    Submission& each = pop_front();
    (each.has_expired(now_ms) ? expired : kept).push_back(each);
  }
  *this = kept;
  return expired;
}

}  // namespace rushgate
