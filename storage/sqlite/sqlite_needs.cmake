find_package(SQLite3 3.37 REQUIRED)  # STRICT tables
find_package(SQLiteCpp REQUIRED)
