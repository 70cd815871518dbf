#include "engine/core/base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <new>

#include "absl/strings/escaping.h"

namespace rushgate {

std::string sha256_hex(std::string_view data) {
  constexpr std::size_t kDigestBytes = 32;
  std::array<char, kDigestBytes> digest{};
  if (EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_sha256(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  return absl::BytesToHexString({digest.data(), digest.size()});
}

}  // namespace rushgate
