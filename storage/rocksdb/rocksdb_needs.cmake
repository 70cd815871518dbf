# By pkg-config: the package's CMake config asks for the headers of every compression library too.
pkg_check_modules(ROCKSDB REQUIRED IMPORTED_TARGET GLOBAL rocksdb)
