// Memory shared by all connections of a server, so that an idle one needs none.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <rushgate/request.h>

namespace rushgate {

/// Empties the request and frees its memory, which assigning an empty one would keep.
inline void free_memory(Request& request) {
  const Request freed = std::exchange(request, Request());
}

/// Not thread-safe.
class SharedBuffers {
 public:
  static constexpr std::size_t kReadBytes = 256 * 1'024;

  /// Returns a buffer for the caller, valid until the next call.
  [[nodiscard]] std::span<char> read_buffer() { return read_; }

  /// Returns requests with any content, possibly none. The caller owns them and adds more as
  /// needed.
  [[nodiscard]] std::vector<Request> take_requests() {
    if (spare_.empty()) return {};
    std::vector<Request> requests = std::move(spare_.back());
    spare_.pop_back();
    spare_requests_ -= requests.size();
    return requests;
  }
  /// Takes requests back, of which the first `used` were used. Keeps them unless they are large or
  /// too many.
  void give_back(std::vector<Request> requests, std::size_t used) {
    if (spare_requests_ + requests.size() > kSpareRequestsMax) return;
    for (Request& request : std::span(requests).first(used)) {
      if (request.heap_bytes() > kSpareRequestBytesMax) free_memory(request);
    }
    spare_requests_ += requests.size();
    spare_.push_back(std::move(requests));
  }

 private:
  static constexpr std::size_t kSpareRequestsMax = 8'192;
  static constexpr std::size_t kSpareRequestBytesMax = 256;

  std::vector<char> read_ = std::vector<char>(kReadBytes);
  std::vector<std::vector<Request>> spare_;
  std::size_t spare_requests_ = 0;
};

}  // namespace rushgate
