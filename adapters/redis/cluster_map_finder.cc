#include "adapters/redis/cluster_map_finder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "adapters/redis/peers.h"
#include "adapters/redis/text.h"
#include "engine/core/base/numbers.h"
#include "engine/core/client/info_value.h"
#include "engine/core/client/redis_error_code.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {
namespace {

constexpr std::size_t kNodesMax = 64;  // that are asked in one round

/// Returns why a node refuses to answer, without the text of a refusal, which may quote the password.
absl::Status refusal_of_node(const Reply& error) {
  const std::string_view code = error.error_code();
  if (code == "NOAUTH" || code == "WRONGPASS" || code == redis_error_code::kNoPermission ||
      error.text().starts_with("ERR AUTH")) {
    return absl::PermissionDeniedError(concat("it refuses the user: ", code));
  }
  if (error.text().find("cluster support disabled") != std::string::npos) {
    return absl::FailedPreconditionError("it belongs to no cluster");
  }
  return absl::UnavailableError(std::string(error.text()));
}

}  // namespace

ClusterMapFinder::ClusterMapFinder(RedisRuntime& runtime, OnMap on_map)
    : runtime_(runtime),
      on_map_(std::move(on_map)),
      nodes_(runtime.options().cluster.addresses),
      timer_(runtime.io()) {}

void ClusterMapFinder::close() {
  is_closed_ = true;
  timer_.stop();
  if (asking_ != nullptr) asking_->close();
  end_round(absl::UnavailableError("the backend is closed"));
}

void ClusterMapFinder::doubt() {
  if (is_asking_) return;  // it may be asking another one
  std::rotate(nodes_.begin(), nodes_.begin() + 1, nodes_.end());
}

// ---- Rounds -------------------------------------------------------------------------------------

void ClusterMapFinder::find(bool takes_last, Found found) {
  if (is_closed_) return found(result_);
  const std::int64_t pause_ms = began_ms_ + kPauseMs - runtime_.now_ms();
  const bool must_pause = !is_asking_ && pause_ms > 0;
  if (must_pause) timer_.start(pause_ms, [this] { begin_round(); });
  if (must_pause && takes_last) return found(result_);
  waiting_.push_back(std::move(found));
  if (!is_asking_ && !must_pause) begin_round();
}

void ClusterMapFinder::begin_round() {
  ++runtime_.counts.lookups;
  is_asking_ = true;
  began_ms_ = runtime_.now_ms();
  round_ = nodes_;
  asked_ = 0;
  failure_ = absl::OkStatus();
  best_.reset();
  other_cluster_.reset();
  ask_next();
}

void ClusterMapFinder::ask_next() {
  if (asked_ == round_.size()) return end_round_with_best();
  const RedisAddress node = round_[asked_++];
  const RedisOptions& options = runtime_.options();
  std::vector<Request> requests;
  add_auth(options.user, options.password, requests);
  requests.push_back(Request::of("CLUSTER", "INFO"));
  requests.push_back(Request::of("CLUSTER", "SLOTS"));
  asking_ = std::make_shared<RedisExchange>(runtime_.io(), options, runtime_.tls());
  asking_->start(node, requests, options.cluster.timeout_ms,
                 [this, node](const absl::StatusOr<std::vector<Reply>>& replies) {
                   auto answer = read_answer(replies, node);
                   if (answer.ok()) return note_answer(*std::move(answer));
                   note_failure(node, answer.status());
                   ask_next();
                 });
}

absl::StatusOr<ClusterMapFinder::Answer> ClusterMapFinder::read_answer(
    const absl::StatusOr<std::vector<Reply>>& replies, const RedisAddress& node) const {
  if (!replies.ok()) return replies.status();
  const auto error = std::ranges::find_if(*replies, &Reply::is_error);
  if (error != replies->end()) return refusal_of_node(*error);
  auto map = ClusterMap::parse(replies->back(), node);
  if (!map.ok()) return map.status();
  if (map->masters().empty()) return absl::UnavailableError("it knows no masters");
  const std::string& info = (*replies)[replies->size() - 2].text();
  const auto epoch = parse_int64(info_value(info, "cluster_current_epoch"));
  return Answer{.node = node, .map = *std::move(map), .epoch = epoch ? *epoch : epoch_};
}

bool ClusterMapFinder::is_of_other_cluster(const ClusterMap& map) const {
  if (ids_.empty() || map.ids().empty()) return false;
  return std::ranges::none_of(map.ids(), [&](const std::string& id) { return ids_.contains(id); });
}

void ClusterMapFinder::note_answer(Answer answer) {
  if (is_of_other_cluster(answer.map)) {
    other_cluster_ = std::move(answer);
    return ask_next();
  }
  if (answer.epoch >= epoch_ && answer.map.uncovered() == 0) {
    accept(answer);
    return end_round(absl::OkStatus());
  }
  const auto rank = [](const Answer& one) { return std::pair(one.epoch, -one.map.uncovered()); };
  if (!best_ || rank(*best_) < rank(answer)) best_ = std::move(answer);
  ask_next();
}

void ClusterMapFinder::note_failure(const RedisAddress& node, const absl::Status& status) {
  const std::string text = concat(node.text(), ": ", status.message());
  if (failure_.ok()) {
    failure_ = absl::Status(status.code(),
                            concat("no node of the cluster has a map of its slots: ", text));
    return;
  }
  // What an operator must change is worth more than an outage.
  const bool is_worse = absl::IsUnavailable(failure_);
  failure_ = absl::Status(is_worse ? status.code() : failure_.code(),
                          concat(failure_.message(), "; ", text));
}

void ClusterMapFinder::end_round_with_best() {
  if (!best_ && failure_.ok()) best_ = std::exchange(other_cluster_, std::nullopt);
  if (!best_) {
    if (other_cluster_)
      note_failure(other_cluster_->node,
                   absl::UnavailableError("it belongs to another cluster than before"));
    return end_round(failure_);
  }
  accept(*std::exchange(best_, std::nullopt));
  end_round(absl::OkStatus());
}

void ClusterMapFinder::accept(const Answer& answer) {
  epoch_ = answer.epoch;
  ids_ = answer.map.ids();
  nodes_ = {answer.node};
  for (const ClusterMap::Master& each : answer.map.masters())
    add_new(each.address, kNodesMax, nodes_);
  for (const RedisAddress& each : runtime_.options().cluster.addresses)
    add_new(each, kNodesMax, nodes_);
  for (const RedisAddress& each : answer.map.replicas()) add_new(each, kNodesMax, nodes_);
  on_map_(answer.map);
}

void ClusterMapFinder::end_round(const absl::Status& status) {
  is_asking_ = false;
  result_ = status;
  if (!is_closed_) {
    timer_.start(runtime_.options().cluster.poll_ms, [this] {
      doubt();  // each node may be cut off from the others
      begin_round();
    });
  }
  for (Found& found : std::exchange(waiting_, {})) found(status);
}

}  // namespace rushgate
