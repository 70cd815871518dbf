#include "tests/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace rushgate::testing {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

struct Identity {
  Owned<EVP_PKEY> key;
  Owned<X509> certificate;
};

void must(bool succeeded, const char* what) {
  if (!succeeded) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

void add_extension(X509& certificate, int id, const char* value) {
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, nullptr, id, value));
  must(extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1, value);
}

/// Signs the certificate with its own key if `issuer` is null.
Identity make_identity(const char* name, int serial, const Identity* issuer) {
  constexpr long kValidSeconds = 24L * 60 * 60;
  constexpr long kVersion3 = 2;
  Identity made{Owned<EVP_PKEY>(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")),
                Owned<X509>(X509_new())};
  must(made.key != nullptr && made.certificate != nullptr, "no key");
  X509& certificate = *made.certificate;
  const bool is_authority = issuer == nullptr;
  X509_set_version(&certificate, kVersion3);
  ASN1_INTEGER_set(X509_get_serialNumber(&certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(&certificate), -kValidSeconds);
  X509_gmtime_adj(X509_getm_notAfter(&certificate), kValidSeconds);
  X509_set_pubkey(&certificate, made.key.get());
  const std::string common_name(name);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(
      &certificate, X509_get_subject_name(is_authority ? &certificate : issuer->certificate.get()));
  add_extension(certificate, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!is_authority) {
    add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  }
  EVP_PKEY* const signer = is_authority ? made.key.get() : issuer->key.get();
  must(X509_sign(&certificate, signer, EVP_sha256()) > 0, "not signed");
  return made;
}

void write(const Identity& identity, const std::filesystem::path& dir, const std::string& name) {
  const Owned<std::FILE> pem(std::fopen((dir / (name + ".pem")).c_str(), "w"));
  const Owned<std::FILE> key(std::fopen((dir / (name + ".key")).c_str(), "w"));
  must(pem != nullptr && PEM_write_X509(pem.get(), identity.certificate.get()) == 1, "no file");
  must(key != nullptr && PEM_write_PrivateKey(key.get(), identity.key.get(), nullptr, nullptr, 0,
                                              nullptr, nullptr) == 1,
       "no file");
}

}  // namespace

void write_certificates(const std::filesystem::path& dir) {
  const Identity authority = make_identity("Rushgate test authority", 1, nullptr);
  write(authority, dir, "ca");
  write(make_identity("127.0.0.1", 2, &authority), dir, "server");
  write(make_identity("client", 3, &authority), dir, "client");
}

}  // namespace rushgate::testing
