#include "adapters/testing/keyspace_contents.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "engine/core/base/concat.h"

namespace rushgate::testing {
namespace {

template <class... Words>
Reply ask(Client& client, const Words&... words) {
  Reply reply = client(words...);
  if (reply.is_error()) throw std::runtime_error("reading the keyspace: " + reply.text());
  return reply;
}

/// Returns the elements in groups of `step`, sorted.
std::string sorted(const Reply& reply, std::size_t step) {
  const std::vector<Reply>& elements = reply.elements();
  std::vector<std::string> rows;
  for (std::size_t i = 0; i + step <= elements.size(); i += step) {
    std::string& row = rows.emplace_back();
    for (std::size_t j = i; j < i + step; ++j) row += concat(to_debug_string(elements[j]), " ");
  }
  std::ranges::sort(rows);
  std::string joined;
  for (const std::string& row : rows) joined += row;
  return joined;
}

std::string read_value(Client& client, const std::string& key, const std::string& type) {
  if (type == "string") return to_debug_string(ask(client, "GET", key));
  if (type == "set") return sorted(ask(client, "SMEMBERS", key), 1);
  if (type == "hash") return sorted(ask(client, "HGETALL", key), 2);
  if (type == "list") return to_debug_string(ask(client, "LRANGE", key, 0, -1));
  if (type == "zset") return to_debug_string(ask(client, "ZRANGE", key, 0, -1, "WITHSCORES"));
  if (type == "stream") return to_debug_string(ask(client, "XRANGE", key, "-", "+"));
  throw std::runtime_error(key + " is a " + type);
}

}  // namespace

KeyspaceContents read_contents(Client& client) {
  KeyspaceContents contents;
  const Reply keys = ask(client, "KEYS", "*");
  for (const Reply& key : keys.elements()) {
    const std::string& name = key.text();
    const std::string type = ask(client, "TYPE", name).text();
    contents[name] = concat(type, " ", ask(client, "PEXPIRETIME", name).integer(), ": ",
                            read_value(client, name, type));
  }
  return contents;
}

}  // namespace rushgate::testing
