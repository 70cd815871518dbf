#include "tests/structure/include_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace rushgate::structure {
namespace {

using std::string_view;

// ---- The table --------------------------------------------------------------------------------

/// A room, and what of ours it may include besides itself. The first row that holds a file counts.
struct Room {
  string_view path;
  std::vector<string_view> may_include;
};

const std::vector<Room> kRooms = {
    // clang-format off
    {"engine/base",     {}},
    {"engine/time",     {"engine/base"}},
    {"engine/client",   {"engine/base", "engine/time"}},
    {"engine/store",    {"engine/base"}},
    {"engine/keyspace", {"engine/base", "engine/time", "engine/store"}},
    {"engine/script",   {"engine/base", "engine/time", "engine/store", "engine/client", "engine/keyspace"}},
    {"engine/commands", {"engine/base", "engine/time", "engine/store", "engine/client", "engine/keyspace",
                         "engine/script"}},
    {"engine/executor", {"engine/base", "engine/time", "engine/store", "engine/client", "engine/keyspace",
                         "engine/script", "engine/commands"}},
    {"engine/recipes",  {"engine/base", "engine/time", "engine/client"}},
    {"engine/sale",     {"engine/base", "engine/time", "engine/client", "engine/recipes"}},

    {"storage/memory",  {"engine"}},
    {"storage/rocksdb", {"engine"}},
    {"storage/sqlite",  {"engine"}},
    {"adapters/resp",   {"engine"}},
    {"adapters/redis",  {"engine", "adapters/resp"}},
    {"adapters/testing", {"engine", "storage/memory"}},
    {"adapters/wiring", {"engine", "storage", "adapters"}},
    {"adapters/flash_sale", {"engine", "storage", "adapters"}},

    {"apps",            {"engine", "storage", "adapters"}},
    {"tests",           {"engine", "storage", "adapters", "apps"}},
    // clang-format on
};

/// Headers of others that a part of the tree does without. Files whose path begins with `except`
/// may.
struct Ban {
  string_view part;
  string_view header;  // how the header's name begins
  string_view except = {};
};

constexpr std::array kBans = {
    // The engine does no I/O: that is for storage/ and adapters/.
    Ban{"engine", "rocksdb/"},
    Ban{"engine", "sqlite3"},
    Ban{"engine", "SQLiteCpp/"},
    Ban{"engine", "hiredis"},
    Ban{"engine", "sys/socket.h"},
    Ban{"engine", "sys/un.h"},
    Ban{"engine", "netinet/"},
    Ban{"engine", "arpa/"},
    Ban{"engine", "netdb.h"},
    Ban{"engine", "boost/asio"},
    Ban{"engine", "boost/beast"},
    // Boost.Fiber is optional: only rushgate::fiber knows it.
    Ban{"engine", "boost/fiber", "engine/client/fiber_"},
    Ban{"engine", "boost/context", "engine/client/fiber_"},
};

/// Where libraries keep headers that are not for their users.
constexpr std::array<string_view, 3> kPrivateFolders = {"/detail/", "/details/", "/internal/"};

constexpr std::array<string_view, 5> kOurs = {"engine", "storage", "adapters", "apps", "tests"};

// ---- The checker ------------------------------------------------------------------------------

bool stands_in(string_view path, string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

bool stands_in_any(string_view path, std::span<const string_view> folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](string_view folder) { return stands_in(path, folder); });
}

const Room* room_of(string_view path) {
  const auto found = std::find_if(kRooms.begin(), kRooms.end(),
                                  [&](const Room& room) { return stands_in(path, room.path); });
  return found == kRooms.end() ? nullptr : &*found;
}

/// What stands between the quotes or brackets of an #include line.
struct Include {
  string_view header;
  bool quoted;
};

string_view skip_blanks(string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

std::optional<Include> parse_include(string_view line) {
  line = skip_blanks(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = skip_blanks(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = skip_blanks(line.substr(string_view("include").size()));
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  line.remove_prefix(1);
  return Include{line.substr(0, line.find(quoted ? '"' : '>')), quoted};
}

/// The rule that this include breaks in `file`, or nothing.
std::optional<std::string> broken_rule(string_view file, const Room* room, Include include) {
  const auto say = [](auto... parts) { return (std::string() + ... + std::string(parts)); };
  for (const Ban& ban : kBans) {
    const bool excepted = !ban.except.empty() && file.starts_with(ban.except);
    if (stands_in(file, ban.part) && include.header.starts_with(ban.header) && !excepted) {
      return say(ban.part, "/ does without ", include.header);
    }
  }
  if (!stands_in_any(include.header, kOurs)) {
    if (include.quoted && include.header.find('/') == string_view::npos) {
      return say("\"", include.header, "\" is not written from the root of the repository");
    }
    // Another library's, and not banned.
    for (const string_view folder : kPrivateFolders) {
      if (include.header.find(folder) != string_view::npos) {
        return say(include.header, " is private to its library");
      }
    }
    return std::nullopt;
  }
  if (room == nullptr) return say(file, " stands in no room of the table");
  if (stands_in(include.header, room->path) || stands_in_any(include.header, room->may_include)) {
    return std::nullopt;
  }
  return say(room->path, " may not include ", include.header);
}

}  // namespace

std::vector<Violation> check_includes(string_view file, string_view text) {
  const Room* const room = room_of(file);
  std::vector<Violation> violations;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::optional<Include> include = parse_include(line);
    if (!include) continue;
    if (std::optional<std::string> rule = broken_rule(file, room, *include)) {
      violations.push_back({std::string(file), number, *std::move(rule)});
    }
  }
  return violations;
}

}  // namespace rushgate::structure
