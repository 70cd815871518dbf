// Reads the fields of a JSON object from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <rushgate/user_id.h>

namespace rushgate {

/// Keeps the first fault, as "<path>.<field>: <what>", and reads nothing after it. It has at most
/// kFaultBytesMax, whatever it repeats. An integer may be a string: many programs have only doubles. The object and `fault` must outlive it.
class FieldReader {
 public:
  using Json = nlohmann::ordered_json;

  static constexpr std::size_t kFaultBytesMax = 500;

  FieldReader(const Json& object, std::string path, std::string& fault);

  /// Returns a field; null if it is missing.
  const Json* find(const std::string& name);

  // Each returns false if the field is missing.
  bool read(const std::string& name, std::int64_t& to);
  bool read(const std::string& name, std::string& to);
  /// Reads a number or a name.
  bool read(const std::string& name, UserId& to);
  /// Reads a time: ms since 1970, or a string in ISO 8601.
  bool read_time(const std::string& name, std::int64_t& to);
  bool read_flag(const std::string& name, std::int64_t& to);

  void require(const std::string& name, bool is_there);
  /// Reports unknown fields. Call it after all fields are read.
  void finish();
  void note(const std::string& name, const std::string& what);

 private:
  const Json& object_;
  const std::string path_;
  std::string& fault_;
  std::vector<std::string> known_;
};

/// Returns the first FieldReader::kFaultBytesMax of a message in UTF-8.
std::string bounded_fault(std::string message);

/// Returns nlohmann's message without its code in brackets.
std::string readable(const nlohmann::json::exception& error);

}  // namespace rushgate
