// Certificates for a server and its clients, made for one test.
#pragma once

#include <filesystem>

namespace rushgate::testing {

/// Writes ca.pem, and for "server" and "client" <name>.pem and <name>.key, into `dir`. The
/// authority signed both; the server's is for 127.0.0.1 and localhost. Throws std::runtime_error.
void write_certificates(const std::filesystem::path& dir);

}  // namespace rushgate::testing
