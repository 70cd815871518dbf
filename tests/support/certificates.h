// Generates certificates for a server and its clients, for one test.
#pragma once

#include <filesystem>

namespace rushgate::testing {

/// Writes ca.pem into `dir`, and <name>.pem and <name>.key for "server" and "client". The authority
/// signs both. The server's certificate is for 127.0.0.1 and localhost. Throws std::runtime_error.
void write_certificates(const std::filesystem::path& dir);

}  // namespace rushgate::testing
