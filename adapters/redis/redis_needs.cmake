rushgate_needs_module(HIREDIS hiredis)
rushgate_needs_package(OpenSSL 3.0 COMPONENTS SSL)
