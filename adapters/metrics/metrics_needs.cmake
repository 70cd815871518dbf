# By pkg-config: the package's CMake config asks for the headers of an HTTP server and a client too.
rushgate_needs_module(PROMETHEUS prometheus-cpp-core)
