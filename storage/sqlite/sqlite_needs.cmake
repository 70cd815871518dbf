rushgate_needs_package(SQLite3 3.37)  # STRICT tables
rushgate_needs_package(SQLiteCpp)
