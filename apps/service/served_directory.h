// How other commands find the service that has a sale's directory open: a file in it with the address.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace rushgate {

/// The address of a service.
struct ServedAddress {
  std::string url = {};    // "http://127.0.0.1:8080"
  std::string token = {};  // of its operators' routes; empty: none
};

/// Writes the file, and removes it at the end. A file that cannot be written is left out: commands then
/// read the order database alone.
class ServedDirectory {
 public:
  /// `dir` is locked by this process. `token_file` is empty if the service demands no token.
  ServedDirectory(const std::filesystem::path& dir, const std::string& url,
                  const std::filesystem::path& token_file);
  ~ServedDirectory();
  ServedDirectory(const ServedDirectory&) = delete;
  ServedDirectory& operator=(const ServedDirectory&) = delete;

 private:
  const std::filesystem::path file_;
};

/// Returns the address of the service that has the directory open. Nothing if there is none, or its
/// token cannot be read.
std::optional<ServedAddress> find_service(const std::filesystem::path& dir);

}  // namespace rushgate
