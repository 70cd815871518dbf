#include "engine/base/sha1.h"

#include <cstdint>

#include <boost/uuid/detail/sha1.hpp>

namespace rushgate {

std::string sha1_hex(std::string_view data) {
  boost::uuids::detail::sha1 hasher;
  hasher.process_bytes(data.data(), data.size());
  boost::uuids::detail::sha1::digest_type words;
  hasher.get_digest(words);

  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(40);
  for (const std::uint32_t word : words) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back(kDigits[(word >> shift) & 0xF]);
  }
  return hex;
}

}  // namespace rushgate
