#include "adapters/redis/master_finder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "adapters/redis/peers.h"
#include "adapters/redis/text.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/redis_error_code.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {
namespace {

constexpr std::size_t kSentinelsMax = 32;  // more that a sentinel reports are left out

/// Returns the value of a field in a flat list of names and values; empty if it is missing.
std::string_view field_of(const Reply& fields, std::string_view name) {
  const auto& all = fields.elements();
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
    if (all[i].text() == name) return all[i + 1].text();
  }
  return {};
}

std::optional<RedisAddress> address_of(std::string_view host, std::string_view port) {
  const auto number = parse_int64(port);
  if (host.empty() || !number || *number < 1 || *number > 65535) return std::nullopt;
  return RedisAddress{std::string(host), static_cast<int>(*number)};
}

/// Returns the status of a sentinel that refuses the user, without the text, which may quote the
/// password.
absl::Status refusal_of(const Reply& error) {
  return absl::PermissionDeniedError(concat("it refuses the user: ", error.error_code()));
}

/// Returns the status of a failed round: what an operator must change is worth more than an outage.
absl::StatusCode worse(absl::StatusCode one, absl::StatusCode other) {
  for (const auto code : {absl::StatusCode::kPermissionDenied, absl::StatusCode::kUnavailable}) {
    if (one == code || other == code) return code;
  }
  return absl::StatusCode::kFailedPrecondition;
}

}  // namespace

MasterFinder::MasterFinder(boost::asio::io_context& io, const RedisOptions& options,
                           boost::asio::ssl::context* tls, OnMaster on_master)
    : io_(io),
      options_(options),
      tls_(tls),
      on_master_(std::move(on_master)),
      sentinels_(options.sentinel.addresses),
      poll_timer_(io) {}

void MasterFinder::close() {
  poll_timer_.stop();
  waiting_.clear();
  for (const auto& exchange : {asking_, polling_}) {
    if (exchange != nullptr) exchange->close();
  }
}

void MasterFinder::doubt() {
  is_last_doubted_ = true;
  if (!waiting_.empty()) return;  // it is asking another one
  std::rotate(sentinels_.begin(), sentinels_.begin() + 1, sentinels_.end());
}

// ---- One sentinel -------------------------------------------------------------------------------

std::shared_ptr<RedisExchange> MasterFinder::ask(const RedisAddress& sentinel, Asked asked) {
  const RedisSentinelOptions& options = options_.sentinel;
  std::vector<Request> requests;
  add_auth(options.user, options.password, requests);
  requests.push_back(Request::of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", options.master));
  requests.push_back(Request::of("SENTINEL", "MASTER", options.master));
  requests.push_back(Request::of("SENTINEL", "SENTINELS", options.master));
  auto exchange = std::make_shared<RedisExchange>(io_, options_, tls_);
  exchange->start(
      sentinel, requests, options.timeout_ms,
      [this, asked = std::move(asked)](const absl::StatusOr<std::vector<Reply>>& replies) mutable {
        asked(read_answer(replies));
      });
  return exchange;
}

absl::StatusOr<MasterFinder::Answer> MasterFinder::read_answer(
    const absl::StatusOr<std::vector<Reply>>& replies) const {
  if (!replies.ok()) return replies.status();
  const std::size_t first = replies->size() - 3;
  const Reply& address = (*replies)[first];
  if (first > 0 && replies->front().is_error()) return refusal_of(replies->front());  // AUTH's
  const std::string_view code = address.error_code();
  if (code == "NOAUTH" || code == redis_error_code::kNoPermission) return refusal_of(address);
  if (address.is_error()) return absl::UnavailableError(std::string(address.text()));
  if (address.is_nil()) return absl::FailedPreconditionError("it knows no master of this name");
  if (address.elements().size() != 2) return absl::UnavailableError("it is no sentinel");
  const auto master = address_of(address.elements()[0].text(), address.elements()[1].text());
  if (!master) return absl::UnavailableError("it names no address");
  // A sentinel may refuse its user the other two questions.
  Answer answer{.master = *master};
  const auto epoch = parse_int64(field_of((*replies)[first + 1], "config-epoch"));
  answer.epoch = epoch ? *epoch : epoch_;
  for (const Reply& other : (*replies)[first + 2].elements()) {
    const auto sentinel = address_of(field_of(other, "ip"), field_of(other, "port"));
    if (sentinel) add_new(*sentinel, kSentinelsMax, answer.sentinels);
  }
  return answer;
}

// ---- A round of all -----------------------------------------------------------------------------

void MasterFinder::find(Found found) {
  waiting_.push_back(std::move(found));
  if (waiting_.size() > 1) return;
  round_ = sentinels_;
  asked_ = 0;
  failure_ = absl::OkStatus();
  older_.reset();
  ask_next();
}

void MasterFinder::ask_next() {
  if (asked_ == round_.size()) {
    if (!older_) return end_without_answer();
    const auto [sentinel, answer] = *std::exchange(older_, std::nullopt);
    accept(sentinel, answer);
    return end_round(answer.master);
  }
  const RedisAddress sentinel = round_[asked_++];
  asking_ = ask(sentinel, [this, sentinel](const absl::StatusOr<Answer>& answer) {
    if (!answer.ok()) {
      note_failure(sentinel, answer.status());
      return ask_next();
    }
    if (answer->epoch < epoch_) {
      if (!older_ || older_->answer.epoch < answer->epoch) older_ = Older{sentinel, *answer};
      return ask_next();
    }
    accept(sentinel, *answer);
    end_round(answer->master);
  });
}

void MasterFinder::note_failure(const RedisAddress& sentinel, const absl::Status& status) {
  const std::string text = concat(sentinel.text(), ": ", status.message());
  failure_ = failure_.ok()
                 ? absl::Status(status.code(), concat("no sentinel knows where the master \"",
                                                      options_.sentinel.master, "\" is: ", text))
                 : absl::Status(worse(failure_.code(), status.code()),
                                concat(failure_.message(), "; ", text));
}

void MasterFinder::accept(const RedisAddress& sentinel, const Answer& answer) {
  epoch_ = answer.epoch;
  last_ = answer.master;
  is_last_doubted_ = false;
  sentinels_ = {sentinel};
  for (const RedisAddress& each : options_.sentinel.addresses)
    add_new(each, kSentinelsMax, sentinels_);
  for (const RedisAddress& each : answer.sentinels) add_new(each, kSentinelsMax, sentinels_);
}

/// Names the last master if the sentinels are away. If that could not be used, the next round says why no
/// sentinel replied, and the one after it tries it again.
void MasterFinder::end_without_answer() {
  const bool are_away = absl::IsUnavailable(failure_);
  if (!are_away || !last_ || std::exchange(is_last_doubted_, false)) return end_round(failure_);
  end_round(*last_);
}

void MasterFinder::end_round(absl::StatusOr<RedisAddress> master) {
  asking_ = nullptr;
  std::vector<Found> waiting = std::exchange(waiting_, {});
  if (master.ok()) on_master_(*master);
  for (Found& found : waiting) found(master);
  poll_later();
}

// ---- Looking for another master -----------------------------------------------------------------

void MasterFinder::poll_later() {
  poll_timer_.start(options_.sentinel.poll_ms, [this] { poll(); });
}

/// Asks the next sentinel: each of them may be cut off from the others.
void MasterFinder::poll() {
  if (!waiting_.empty()) return;  // end_round() continues
  const RedisAddress sentinel = sentinels_[++polled_ % sentinels_.size()];
  polling_ = ask(sentinel, [this](const absl::StatusOr<Answer>& answer) {
    polling_ = nullptr;
    poll_later();
    if (!answer.ok() || answer->epoch < epoch_) return;
    epoch_ = answer->epoch;
    last_ = answer->master;
    on_master_(answer->master);
  });
}

}  // namespace rushgate
