rushgate_needs_package(Boost 1.74 CONFIG COMPONENTS fiber context)
