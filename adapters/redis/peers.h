// What all questions to sentinels and cluster nodes share. Private to this module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <rushgate/redis_backend.h>
#include <rushgate/request.h>

namespace rushgate {

/// Adds AUTH, unless there is no password.
inline void add_auth(const std::string& user, const std::string& password,
                     std::vector<Request>& requests) {
  if (password.empty()) return;
  requests.push_back(user.empty() ? Request::of("AUTH", password)
                                  : Request::of("AUTH", user, password));
}

/// Adds an address, unless it is there, or there are `most`.
inline void add_new(const RedisAddress& address, std::size_t most, std::vector<RedisAddress>& all) {
  if (all.size() < most && std::ranges::find(all, address) == all.end()) all.push_back(address);
}

}  // namespace rushgate
