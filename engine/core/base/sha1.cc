#include "engine/core/base/sha1.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>

namespace rushgate {
namespace {

/// Looked up once, because the lookup takes longer than the digest of a short script. The context
/// is the library's own, so neither the machine's openssl.cnf nor the program's use of OpenSSL has
/// an effect.
const EVP_MD* algorithm() {
  static const EVP_MD* const kSha1 = EVP_MD_fetch(OSSL_LIB_CTX_new(), "SHA1", nullptr);
  if (kSha1 == nullptr) throw std::bad_alloc();  // the only possible cause
  return kSha1;
}

}  // namespace

Sha1 sha1(std::string_view data) {
  Sha1 digest{};
  if (EVP_Digest(data.data(), data.size(), digest.data(), nullptr, algorithm(), nullptr) != 1) {
    throw std::bad_alloc();
  }
  return digest;
}

std::string to_hex(const Sha1& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 0xF]);
  }
  return hex;
}

std::string sha1_hex(std::string_view data) { return to_hex(sha1(data)); }

}  // namespace rushgate
