#include "adapters/redis/subscriptions.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "adapters/redis/text.h"

namespace rushgate {
namespace {

struct Words {
  std::string_view subscribe;
  std::string_view unsubscribe;
  std::string_view message;
};

constexpr std::array kWords = {
    Words{"SUBSCRIBE", "UNSUBSCRIBE", "MESSAGE"},
    Words{"PSUBSCRIBE", "PUNSUBSCRIBE", "PMESSAGE"},
    Words{"SSUBSCRIBE", "SUNSUBSCRIBE", "SMESSAGE"},
};

template <class Names>
std::size_t count_of(const Names& names) {
  return std::accumulate(names.begin(), names.end(), std::size_t{0},
                         [](std::size_t sum, const auto& set) { return sum + set.size(); });
}

}  // namespace

bool ConnectionSubscriptions::is_message(const Reply& reply) const {
  if (reply.elements().size() < 3 || count_of(confirmed_) == 0) return false;
  const std::string& word = reply.elements().front().text();
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const Words& words) { return equals_ignore_case(word, words.message); });
}

std::optional<std::size_t> ConnectionSubscriptions::confirmations_of(const Request& request) const {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (equals_ignore_case(request[0], kWords[kind].subscribe)) {
      return std::max<std::size_t>(request.size() - 1, 1);
    }
    if (equals_ignore_case(request[0], kWords[kind].unsubscribe)) {
      const std::size_t names = request.size() > 1 ? request.size() - 1 : confirmed_[kind].size();
      return std::max<std::size_t>(names, 1);
    }
  }
  return std::nullopt;
}

void ConnectionSubscriptions::note_confirmation(const Reply& confirmation) {
  if (confirmation.elements().size() != 3) return;
  const std::string& word = confirmation.elements()[0].text();
  const std::string& name = confirmation.elements()[1].text();
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (equals_ignore_case(word, kWords[kind].subscribe)) {
      wanted_[kind].insert(name);
      confirmed_[kind].insert(name);
    } else if (equals_ignore_case(word, kWords[kind].unsubscribe)) {
      wanted_[kind].erase(name);
      confirmed_[kind].erase(name);
    }
  }
}

void ConnectionSubscriptions::forget_confirmed() { confirmed_ = {}; }

std::vector<Request> ConnectionSubscriptions::renewal() const {
  std::vector<Request> requests;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (wanted_[kind].empty()) continue;
    Request& request = requests.emplace_back(Request::of(kWords[kind].subscribe));
    for (const std::string& name : wanted_[kind]) request.add(name);
  }
  return requests;
}

std::size_t ConnectionSubscriptions::wanted() const { return count_of(wanted_); }

}  // namespace rushgate
