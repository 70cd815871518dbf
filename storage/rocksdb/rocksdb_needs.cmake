# By pkg-config: the package's CMake config asks for the headers of every compression library too.
rushgate_needs_module(ROCKSDB rocksdb)
