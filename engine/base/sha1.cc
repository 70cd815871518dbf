#include "engine/base/sha1.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <new>

namespace rushgate {
namespace {

constexpr std::size_t kDigestBytes = 20;

/// Looked up once, because the lookup takes longer than the digest of a short script. The context
/// is the library's own, so neither the machine's openssl.cnf nor the program's use of OpenSSL has
/// an effect.
const EVP_MD* algorithm() {
  static const EVP_MD* const sha1 = EVP_MD_fetch(OSSL_LIB_CTX_new(), "SHA1", nullptr);
  if (sha1 == nullptr) throw std::bad_alloc();  // the only possible cause
  return sha1;
}

}  // namespace

std::string sha1_hex(std::string_view data) {
  std::array<unsigned char, kDigestBytes> digest{};
  if (EVP_Digest(data.data(), data.size(), digest.data(), nullptr, algorithm(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * kDigestBytes);
  for (const unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 0xF]);
  }
  return hex;
}

}  // namespace rushgate
