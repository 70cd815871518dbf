# The packages of rushgate::core, and so of every module.
rushgate_needs_package(absl)
rushgate_needs_package(Boost 1.74 CONFIG)  # headers: Lockfree and CRC; Asio for other modules
rushgate_needs_package(OpenSSL 3.0 COMPONENTS Crypto)
rushgate_needs_package(spdlog)
