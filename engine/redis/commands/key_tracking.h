// The state of CLIENT TRACKING in a session:
// https://redis.io/docs/latest/develop/reference/client-side-caching/
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace rushgate {

/// Of a client whose keys are tracked.
struct KeyTracking {
  bool broadcasts = false;          // BCAST: changes of all keys with one of `prefixes`
  bool opts_in = false;             // OPTIN: reads are remembered only after CLIENT CACHING YES
  bool opts_out = false;            // OPTOUT: reads are not remembered after CLIENT CACHING NO
  bool skips_own = false;           // NOLOOP: no messages about its own changes
  bool caching_is_set = false;      // CLIENT CACHING, for the next command or transaction
  bool redirect_is_broken = false;  // the client `redirect` has left
  std::uint64_t redirect = 0;       // id of the client that gets the messages; 0: this one
  std::set<std::string, std::less<>> prefixes;

  /// Returns true if the keys that the client reads now must be remembered.
  [[nodiscard]] bool remembers_reads() const {
    if (broadcasts) return false;
    return opts_in ? caching_is_set : !(opts_out && caching_is_set);
  }
};

}  // namespace rushgate
