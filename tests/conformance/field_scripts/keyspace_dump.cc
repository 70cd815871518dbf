#include "tests/conformance/field_scripts/keyspace_dump.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "engine/core/base/concat.h"
#include <rushgate/reply.h>

namespace rushgate::testing {
namespace {

constexpr int kSession = 1'000;  // used by no test

std::vector<std::string> texts(const Reply& reply) {
  std::vector<std::string> texts;
  for (const Reply& element : reply.elements()) texts.push_back(element.text());
  return texts;
}

/// Sorts elements in groups of `step`, and joins them.
std::string sorted(const std::vector<std::string>& elements, std::size_t step) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i + step <= elements.size(); i += step) {
    std::string& row = rows.emplace_back();
    for (std::size_t j = 0; j < step; ++j) row += elements[i + j] + ' ';
  }
  std::ranges::sort(rows);
  std::string joined;
  for (const std::string& row : rows) joined += row;
  return joined;
}

std::string value_of(Backend& backend, const std::string& key, const std::string& type) {
  const auto ask = [&](auto... words) { return backend.ask(kSession, Request::of(words...)); };
  if (type == "string") return ask("GET", key).text();
  if (type == "set") return sorted(texts(ask("SMEMBERS", key)), 1);
  if (type == "hash") return sorted(texts(ask("HGETALL", key)), 2);
  if (type == "list") return to_debug_string(ask("LRANGE", key, 0, -1));
  if (type == "stream") return to_debug_string(ask("XRANGE", key, "-", "+"));
  throw std::runtime_error(key + " is a " + type);
}

}  // namespace

std::string dump_keyspace(Backend& backend) {
  std::vector<std::string> keys = texts(backend.ask(kSession, Request::of("KEYS", "*")));
  std::ranges::sort(keys);
  std::string dump;
  for (const std::string& key : keys) {
    const std::string type = backend.ask(kSession, Request::of("TYPE", key)).text();
    const Reply ttl = backend.ask(kSession, Request::of("PTTL", key));
    dump += concat(key, " ", type, " ", ttl.integer(), ": ", value_of(backend, key, type), "\n");
  }
  return dump;
}

}  // namespace rushgate::testing
