rushgate_needs_package(fmt)
rushgate_needs_package(nlohmann_json)
rushgate_needs_package(OpenSSL 3.0 COMPONENTS SSL)
