// The compiler's work on this file is the unit in which `./dev check` states the time of a build, so
// that machines of different speed agree. It depends on the compiler and its library alone.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

using Value = std::variant<int, double, std::string, std::vector<std::string>>;

struct Record {
  std::string name;
  std::map<std::string, Value> fields;
};

template <int kLevel>
Record made(const std::string& name) {
  Record record = made<kLevel - 1>(name + "'");
  record.fields.emplace("level " + std::to_string(kLevel), kLevel);
  std::unordered_map<std::string, std::shared_ptr<Record>> known;
  known.emplace(name, std::make_shared<Record>(record));
  std::vector<std::pair<std::string, int>> sorted;
  for (const auto& [key, one] : known)
    sorted.emplace_back(key, static_cast<int>(one->fields.size()));
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second + kLevel < b.second; });
  std::visit([](const auto& value) { static_cast<void>(value); }, record.fields.begin()->second);
  return record;
}
template <>
Record made<0>(const std::string& name) {
  return {name, {{"name", Value(name)}}};
}

}  // namespace

int main() {
  const std::regex words("([a-z]+)(?:, ([a-z]+))*");
  std::smatch found;
  const std::string text = "one, two, three";
  std::mt19937_64 random(1);
  const auto later = std::async(std::launch::deferred, [&] { return made<24>(text).name; });
  std::function<bool()> matches = [&] { return std::regex_match(text, found, words); };
  std::stringstream out;
  if (matches()) out << found[1] << random() << std::filesystem::current_path();
  std::cout << out.str();
}
