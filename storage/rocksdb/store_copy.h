// Copies the files of an open database.
#pragma once

#include <filesystem>

#include <rocksdb/db.h>

#include "absl/status/status.h"
#include <rushgate/copy_portion.h>

namespace rushgate {

/// Copies the database in `from` to `to`, as Store::copy_to() describes.
absl::Status copy_live_files(rocksdb::DB& db, const std::filesystem::path& from,
                             const std::filesystem::path& to, const std::filesystem::path& previous,
                             AfterPortion after);

}  // namespace rushgate
