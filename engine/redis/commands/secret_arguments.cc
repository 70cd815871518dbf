#include "engine/redis/commands/secret_arguments.h"

#include <algorithm>

#include "engine/redis/commands/arguments.h"

namespace rushgate {
namespace {

/// AUTH [user] password. More arguments are an error.
bool is_secret_of_auth(RequestView request) {
  constexpr std::size_t kSizeMax = 3;
  return request.size() <= kSizeMax;
}

/// HELLO version AUTH user password.
bool is_secret_of_hello(RequestView request, std::size_t position) {
  constexpr std::size_t kFirstOption = 2;
  for (const std::size_t distance : {std::size_t{1}, std::size_t{2}}) {
    if (position >= kFirstOption + distance &&
        equal_in_any_case(request[position - distance], "auth"))
      return true;
  }
  return false;
}

/// CONFIG SET parameter value [parameter value …].
bool is_secret_of_config(RequestView request, std::size_t position) {
  constexpr std::string_view kSecrets[] = {"requirepass", "masterauth", "masteruser"};
  constexpr std::size_t kFirstValue = 3;
  return position >= kFirstValue && position % 2 != 0 && equal_in_any_case(request[1], "set") &&
         std::ranges::any_of(kSecrets, [&](std::string_view name) {
           return equal_in_any_case(request[position - 1], name);
         });
}

}  // namespace

bool is_secret(RequestView request, std::size_t position) {
  if (position == 0) return false;
  if (equal_in_any_case(request[0], "auth")) return is_secret_of_auth(request);
  if (equal_in_any_case(request[0], "hello")) return is_secret_of_hello(request, position);
  if (equal_in_any_case(request[0], "config")) return is_secret_of_config(request, position);
  return equal_in_any_case(request[0], "acl") && position >= 2 &&
         equal_in_any_case(request[1], "setuser");
}

}  // namespace rushgate
