#include "storage/rocksdb/recovery_limit.h"

#include <string>
#include <string_view>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "storage/rocksdb/rocksdb_status.h"

namespace rushgate {
namespace {

constexpr std::string_view kLimitEnd = " end\n";  // the limit is whole

std::string limit_path(const std::filesystem::path& dir) {
  return (dir / kRecoveryLimitName).string();
}

}  // namespace

absl::StatusOr<std::optional<std::uint64_t>> read_recovery_limit(rocksdb::Env& env,
                                                                 const std::filesystem::path& dir) {
  std::optional<std::uint64_t> limit;
  rocksdb::Status status = env.FileExists(limit_path(dir));
  if (status.IsNotFound()) return limit;
  std::string text;
  if (status.ok()) status = rocksdb::ReadFileToString(&env, limit_path(dir), &text);
  if (!status.ok()) return to_absl(status, "reading the limit of recoveries", dir);
  std::string_view number = text;
  if (!number.ends_with(kLimitEnd)) return limit;
  number.remove_suffix(kLimitEnd.size());
  limit = parse_uint64(number);
  return limit;
}

absl::Status write_recovery_limit(rocksdb::Env& env, const std::filesystem::path& dir,
                                  std::uint64_t limit) {
  const rocksdb::Status status = rocksdb::WriteStringToFile(&env, concat(limit, kLimitEnd),
                                                            limit_path(dir), /*should_sync=*/true);
  return to_absl(status, "writing the limit of recoveries", dir);
}

absl::Status remove_recovery_limit(rocksdb::Env& env, const std::filesystem::path& dir) {
  rocksdb::Status status = env.FileExists(limit_path(dir));
  if (status.IsNotFound()) return absl::OkStatus();
  if (status.ok()) status = env.DeleteFile(limit_path(dir));
  return to_absl(status, "removing the limit of recoveries", dir);
}

}  // namespace rushgate
