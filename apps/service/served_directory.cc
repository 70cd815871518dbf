#include "apps/service/served_directory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "adapters/flash_sale/json_text.h"
#include "adapters/flash_sale/sale_directory.h"
#include "storage/rocksdb/directory_lock.h"

namespace rushgate {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kServiceName = "service.json";

/// Returns the process that holds the sale, as it names itself; empty if none does. The file of a
/// process that was killed names another one.
std::string holder_of(const fs::path& dir) {
  for (const fs::path& locked : {keyspace_in(dir), dir}) {
    std::error_code error;
    if (!fs::exists(locked / kLockFileName, error)) continue;
    const auto lock = DirectoryLock::take(locked);
    if (lock.ok()) return {};
    // The rest of the message has the directory, as this process calls it.
    const std::string message(lock.status().message());
    return message.substr(std::min(message.find(" is in use by "), message.size()));
  }
  return {};
}

std::string read_first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace

ServedDirectory::ServedDirectory(const fs::path& dir, const std::string& url,
                                 const fs::path& token_file)
    : file_(dir / kServiceName) {
  std::error_code error;
  const nlohmann::ordered_json json = {
      {"holder", holder_of(dir)},
      {"url", url},
      {"token_file", token_file.empty() ? "" : fs::absolute(token_file, error).string()}};
  // A reader sees the whole file.
  const fs::path written = file_.string() + ".new";
  std::ofstream out(written);
  out << json.dump(1) << '\n';
  out.close();
  if (out) fs::rename(written, file_, error);
}

ServedDirectory::~ServedDirectory() {
  std::error_code ignored;
  fs::remove(file_, ignored);
}

std::optional<ServedAddress> find_service(const fs::path& dir) {
  std::ifstream in(dir / kServiceName);
  if (!in) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto parsed = parse_json(text);
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  const nlohmann::ordered_json& json = *parsed;
  const std::string holder = json.value("holder", "");
  if (holder.empty() || holder != holder_of(dir)) return std::nullopt;
  ServedAddress address{.url = json.value("url", "")};
  const std::string token_file = json.value("token_file", "");
  if (!token_file.empty()) {
    address.token = read_first_line(token_file);
    if (address.token.empty()) return std::nullopt;
  }
  return address;
}

}  // namespace rushgate
