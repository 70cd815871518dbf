// Scripts that run although the keyspace's memory is exhausted.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <rushgate/client.h>

namespace rushgate {

/// Returns the Lua script for a second try, after the error OOM: maxmemory does not apply to it. Redis keeps
/// to that from the script's beginning to its end.
std::string allow_oom(std::string_view text);

/// A script, and what runs instead if the keyspace's memory is exhausted.
struct OomScript {
  /// As Client::run().
  Reply run(Client& client, std::span<const std::string_view> keys,
            std::span<const std::string_view> arguments) const;

  Script script;
  Script without_memory;
};

/// Returns the script with allow_oom() for its second try.
OomScript make_oom_script(std::string_view text);

}  // namespace rushgate
