// A client's bytes: the requests found do not depend on how the bytes are split.
#include <string>
#include <vector>

#include "adapters/resp/request_parser.h"
#include "adapters/resp/resp_encoder.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

struct Found {
  std::vector<Request> requests;
  std::string error;
  friend bool operator==(const Found&, const Found&) = default;
};

/// Feeds pieces with repeating sizes, none of them empty.
Found find(std::string_view bytes, const std::vector<std::size_t>& sizes,
           const RequestParser::Limits& limits) {
  Found found;
  RequestParser parser;
  std::string waiting;  // bytes that the parser did not consume yet
  for (std::size_t piece = 0; !bytes.empty(); ++piece) {
    const std::string_view next = bytes.substr(0, sizes[piece % sizes.size()]);
    bytes.remove_prefix(next.size());
    waiting += next;
    std::string_view input = waiting;
    Request request;
    auto result = parser.next(input, limits, request);
    for (; result == RequestParser::Result::kRequest;
         result = parser.next(input, limits, request)) {
      fuzz::expect(!request.empty(), "a request has a name");
      found.requests.push_back(request);
    }
    if (result == RequestParser::Result::kBroken) {
      found.error = parser.error();
      return found;
    }
    waiting = std::string(input);
  }
  return found;
}

void find_in(std::string_view bytes, const std::vector<std::size_t>& sizes,
             const RequestParser::Limits& limits) {
  const Found whole = find(bytes, {bytes.size()}, limits);
  fuzz::expect(find(bytes, {1}, limits) == whole, "byte by byte");
  fuzz::expect(find(bytes, sizes, limits) == whole, "in pieces");
  std::string encoded;
  for (const Request& request : whole.requests) append_request(request, encoded);
  const Found again = find(encoded, sizes, RequestParser::kAuthenticated);
  fuzz::expect(again.requests == whole.requests && again.error.empty(), "requests come back");
}

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(request) {
  rushgate::fuzz::Input input(data, size);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 4; ++i) sizes.push_back(input.byte() % 64U + 1U);
  const std::string_view bytes = input.rest();
  if (bytes.empty() || bytes.size() > rushgate::RequestParser::kLineBytesMax) return 0;
  rushgate::find_in(bytes, sizes, rushgate::RequestParser::kAuthenticated);
  rushgate::find_in(bytes, sizes, rushgate::RequestParser::kUnauthenticated);
  return 0;
}
