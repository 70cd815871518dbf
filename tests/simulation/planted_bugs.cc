#include "tests/simulation/planted_bugs.h"

#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/sale/scripts/voucher_scripts.h"
#include <rushgate/testing_stores.h>

namespace rushgate::testing {
namespace {

/// Returns pieces_put.lua without its rule that what came already is not added again.
const std::string& script_that_puts_twice() {
  static const std::string* const kScript = [] {
    constexpr std::string_view kRule = "if pieces <= 0 then return {DONE, 0} end";
    std::string text(voucher_scripts::put_pieces().text());
    const std::size_t at = text.find(kRule);
    if (at == std::string::npos) throw std::logic_error("pieces_put.lua has another rule");
    text.replace(at, kRule.size(), "if pieces <= 0 then pieces = 1 end");
    return new std::string(std::move(text));
  }();
  return *kScript;
}

class BuggyClient final : public faults::ForwardingClient {
 public:
  BuggyClient(std::unique_ptr<Client> client, PlantedBug bug)
      : ForwardingClient(std::move(client)), bug_(bug) {}

  [[nodiscard]] Request script_request(const Script& script, std::span<const std::string_view> keys,
                                       std::span<const std::string_view> arguments) const override {
    if (bug_ == PlantedBug::kPutTwice && &script == &voucher_scripts::put_pieces()) {
      return make_script_request("EVAL", script_that_puts_twice(), keys, arguments);
    }
    return ForwardingClient::script_request(script, keys, arguments);
  }

  std::vector<Reply> pipeline(std::span<const Request> requests) override {
    std::vector<Reply> replies = ForwardingClient::pipeline(requests);
    const bool is_look = requests.size() > 1 && requests[0][0] == "HGETALL" &&
                         requests[1][0] == "GET";  // read_lane_pieces()
    if (bug_ != PlantedBug::kOneLaneIsSoldOut || !is_look) return replies;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (requests[i][0] == "GET" && replies[i].is_text()) replies[i] = Reply::bulk("0");
    }
    return replies;
  }

 private:
  const PlantedBug bug_;
};

class BuggyBackend final : public faults::ForwardingBackend {
 public:
  BuggyBackend(Backend& inner, PlantedBug bug) : ForwardingBackend(inner), bug_(bug) {}

  using Backend::open_client;
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override {
    return std::make_unique<BuggyClient>(ForwardingBackend::open_client(options), bug_);
  }

 private:
  const PlantedBug bug_;
};

/// Ignores the epoch of some batches.
class UnfencedOrderStore final : public faults::FaultyOrderStore {
 public:
  UnfencedOrderStore(OrderStore& inner, PlantedBug bug) : FaultyOrderStore(inner), bug_(bug) {}

  absl::StatusOr<std::vector<OrderResult>> write(std::span<const Order> orders,
                                                 const BatchFence& fence) override {
    return FaultyOrderStore::write(orders, in_present(fence, PlantedBug::kOrdersUnfenced));
  }
  absl::StatusOr<std::vector<OrderResult>> apply(std::span<const OrderEvent> events,
                                                 const BatchFence& fence) override {
    return FaultyOrderStore::apply(events, in_present(fence, PlantedBug::kOrdersUnfenced));
  }
  absl::Status record_moved(const MovedPieces& moved, const BatchFence& fence) override {
    return FaultyOrderStore::record_moved(moved, in_present(fence, PlantedBug::kPiecesUnfenced));
  }

 private:
  BatchFence in_present(BatchFence fence, PlantedBug bug) {
    if (bug_ == bug) fence.epoch = state_of(fence.lane).value().epoch;
    return fence;
  }

  const PlantedBug bug_;
};

}  // namespace

std::string_view bug_name(PlantedBug bug) {
  switch (bug) {
    case PlantedBug::kNone:
      return "none";
    case PlantedBug::kPutTwice:
      return "put twice";
    case PlantedBug::kOneLaneIsSoldOut:
      return "one lane is sold out";
    case PlantedBug::kPiecesUnfenced:
      return "pieces unfenced";
    case PlantedBug::kOrdersUnfenced:
      return "orders unfenced";
  }
  return "?";
}

std::unique_ptr<Backend> with_bug(Backend& inner, PlantedBug bug) {
  return std::make_unique<BuggyBackend>(inner, bug);
}

std::unique_ptr<OrderStore> with_bug(OrderStore& inner, PlantedBug bug) {
  return std::make_unique<UnfencedOrderStore>(inner, bug);
}

}  // namespace rushgate::testing
