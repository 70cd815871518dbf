#include "engine/redis/rdb/crc64.h"

#include <boost/crc.hpp>

namespace rushgate::rdb {

std::uint64_t crc64(std::string_view bytes) {
  constexpr std::uint64_t kPolynomial = 0xad93'd235'94c9'35a9;
  boost::crc_optimal<64, kPolynomial, 0, 0, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace rushgate::rdb
