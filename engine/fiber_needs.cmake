find_package(Boost 1.74 CONFIG REQUIRED COMPONENTS fiber context)
