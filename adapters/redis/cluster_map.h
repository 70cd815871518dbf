// Which master of a Redis Cluster serves which slots. Private to this module.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/core/client/key_slot.h"
#include <rushgate/redis_backend.h>
#include <rushgate/reply.h>

namespace rushgate {

/// A value type.
class ClusterMap {
 public:
  struct Master {
    std::string id;  // empty: not known yet, the address is from a redirect
    RedisAddress address;

    friend bool operator==(const Master&, const Master&) = default;
  };

  /// Returns the map in a reply to CLUSTER SLOTS of the node at `asked`. kUnavailable: it is none.
  static absl::StatusOr<ClusterMap> parse(const Reply& slots, const RedisAddress& asked);

  /// Returns the master of a slot; null if there is none.
  [[nodiscard]] const Master* owner(int slot) const;
  /// Makes the master at `address` the owner of a slot.
  void set_owner(int slot, const RedisAddress& address);

  [[nodiscard]] const std::vector<Master>& masters() const { return masters_; }
  [[nodiscard]] const std::vector<RedisAddress>& replicas() const { return replicas_; }
  /// Returns the ids of all nodes.
  [[nodiscard]] const std::set<std::string>& ids() const { return ids_; }
  /// Returns the number of slots without a master.
  [[nodiscard]] int uncovered() const { return uncovered_; }
  /// Returns which slots have no master, for messages: "5461-10922". Empty if all have one.
  [[nodiscard]] std::string uncovered_text() const;

 private:
  static constexpr std::uint16_t kNobody = 0;

  std::uint16_t add_master(const Master& master);

  std::vector<Master> masters_;
  std::vector<RedisAddress> replicas_;
  std::set<std::string> ids_;
  std::array<std::uint16_t, kSlots> owners_{};  // 1 + the index in masters_, or kNobody
  int uncovered_ = kSlots;
};

/// Returns the address in "host:port", which the node at `sender` sent; nothing if it names none. No
/// host means that of the sender. An IPv6 address has no brackets.
std::optional<RedisAddress> node_address(std::string_view endpoint, const RedisAddress& sender);

/// A node's reply that another one serves the slot.
struct Redirect {
  int slot = 0;
  bool only_once = false;  // ASK: the other one serves this request alone, after ASKING
  std::string_view endpoint;
};

/// Parses "MOVED 3999 127.0.0.1:6381" or "ASK …"; nothing if the reply is none of both.
std::optional<Redirect> parse_redirect(const Reply& reply);

}  // namespace rushgate
