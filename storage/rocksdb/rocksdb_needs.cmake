# By pkg-config: the package's CMake config asks for the headers of every compression library too. The
# store relies on how these versions read memtables, write the log and react to failures of files
# (docs/dependencies.md, "Known limits"). Another version needs a look at each of these first.
rushgate_needs_module(ROCKSDB rocksdb 7.8 10.0)
