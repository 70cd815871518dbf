#include "tests/project/structure/include_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace rushgate::structure {
namespace {

using std::string_view;

// ---- The table --------------------------------------------------------------------------------

/// A module, and the modules that it may include. The first row that covers a file counts.
struct Module {
  string_view path;
  std::vector<string_view> may_include;
};

/// The folders of the sale, from the bottom. Each may include those before it. Files beside the
/// folders may include them all.
constexpr std::array<string_view, 11> kSaleFolders = {
    "engine/sale/model",    "engine/sale/stores", "engine/sale/scripts",  "engine/sale/stream",
    "engine/sale/keyspace", "engine/sale/holds",  "engine/sale/vouchers", "engine/sale/split",
    "engine/sale/orders",   "engine/sale/worker", "engine/sale/audit"};

/// Returns `modules` with those of the sale in front.
std::vector<Module> with_sale(const std::vector<Module>& modules) {
  std::vector<string_view> lower = {"engine/core/base", "engine/core/time", "engine/core/client",
                                    "engine/recipes"};
  std::vector<Module> all;
  for (const string_view folder : kSaleFolders) {
    all.push_back({folder, lower});
    lower.push_back(folder);
  }
  all.push_back({"engine/sale", lower});
  all.insert(all.end(), modules.begin(), modules.end());
  return all;
}

const std::vector<Module> kModules = with_sale({
    // clang-format off
    {"engine/core/base",   {}},
    {"engine/core/time",   {"engine/core/base"}},
    {"engine/core/client", {"engine/core/base", "engine/core/time"}},
    {"engine/core/store",  {"engine/core/base"}},
    {"engine/redis/keyspace", {"engine/core/base", "engine/core/time", "engine/core/store"}},
    {"engine/redis/script",   {"engine/core", "engine/redis/keyspace"}},
    {"engine/redis/rdb",      {"engine/core/base", "engine/core/time", "engine/core/store", "engine/redis/keyspace"}},
    {"engine/redis/commands", {"engine/core", "engine/redis/keyspace", "engine/redis/script", "engine/redis/rdb"}},
    {"engine/redis/executor", {"engine/core", "engine/redis/keyspace", "engine/redis/script", "engine/redis/rdb",
                               "engine/redis/commands"}},
    {"engine/recipes",  {"engine/core/base", "engine/core/time", "engine/core/client"}},

    {"storage/memory",  {"engine/core/base", "engine/core/store", "engine/sale"}},
    {"storage/rocksdb", {"engine/core/base", "engine/core/store"}},
    {"storage/sqlite",  {"engine/core/base", "engine/sale"}},
    {"storage/sql",     {"engine/core/base", "engine/sale"}},
    {"storage/postgresql", {"engine/core/base", "engine/sale", "storage/sql"}},
    {"storage/mysql",   {"engine/core/base", "engine/sale", "storage/sql"}},
    {"adapters/resp",   {"engine/core/base", "engine/core/client", "engine/redis/script", "engine/redis/commands",
                         "engine/redis/executor"}},
    {"adapters/redis",  {"engine/core/base", "engine/core/time", "engine/core/client", "adapters/resp"}},
    {"adapters/testing", {"engine/core", "engine/redis/executor", "engine/sale", "storage/memory"}},
    {"adapters/wiring", {"engine", "storage", "adapters"}},
    {"adapters/flash_sale", {"engine", "storage", "adapters"}},
    {"adapters/metrics", {"engine", "storage", "adapters"}},
    {"adapters/http",   {"engine", "storage", "adapters"}},

    {"apps",            {"engine", "storage", "adapters"}},
    {"tests",           {"engine", "storage", "adapters", "apps"}},
    // clang-format on
});

/// A public header and its module. The file is in the folder include/rushgate of its library. It
/// includes only public headers: those of its own module and of lower ones.
struct PublicHeader {
  string_view name;
  string_view module;
};

constexpr std::array kPublicHeaders = {
    PublicHeader{"rushgate/copy_portion.h", "engine/core/base"},
    PublicHeader{"rushgate/maybe_integer.h", "engine/core/base"},
    PublicHeader{"rushgate/stream_id.h", "engine/core/base"},
    PublicHeader{"rushgate/clock.h", "engine/core/time"},
    PublicHeader{"rushgate/backend.h", "engine/core/client"},
    PublicHeader{"rushgate/client.h", "engine/core/client"},
    PublicHeader{"rushgate/fiber_wait.h", "engine/core/client"},
    PublicHeader{"rushgate/program_commands.h", "engine/core/client"},
    PublicHeader{"rushgate/reply.h", "engine/core/client"},
    PublicHeader{"rushgate/request.h", "engine/core/client"},
    PublicHeader{"rushgate/script.h", "engine/core/client"},
    PublicHeader{"rushgate/store.h", "engine/core/store"},
    PublicHeader{"rushgate/engine.h", "engine/redis/executor"},
    PublicHeader{"rushgate/cache.h", "engine/recipes"},
    PublicHeader{"rushgate/ids.h", "engine/recipes"},
    PublicHeader{"rushgate/limits.h", "engine/recipes"},
    PublicHeader{"rushgate/locks.h", "engine/recipes"},
    PublicHeader{"rushgate/queues.h", "engine/recipes"},
    PublicHeader{"rushgate/audit_report.h", "engine/sale/model"},
    PublicHeader{"rushgate/dead_letter.h", "engine/sale/model"},
    PublicHeader{"rushgate/order.h", "engine/sale/model"},
    PublicHeader{"rushgate/order_rules.h", "engine/sale/model"},
    PublicHeader{"rushgate/order_status.h", "engine/sale/model"},
    PublicHeader{"rushgate/purchase.h", "engine/sale/model"},
    PublicHeader{"rushgate/purchase_statistics.h", "engine/sale/model"},
    PublicHeader{"rushgate/order_store.h", "engine/sale/stores"},
    PublicHeader{"rushgate/payment_store.h", "engine/sale/stores"},
    PublicHeader{"rushgate/archive_store.h", "engine/sale/stores"},
    PublicHeader{"rushgate/copy_orders.h", "engine/sale/stores"},
    PublicHeader{"rushgate/order_worker.h", "engine/sale/worker"},
    PublicHeader{"rushgate/order_worker_thread.h", "engine/sale/worker"},
    PublicHeader{"rushgate/move_sale.h", "engine/sale"},
    PublicHeader{"rushgate/sale.h", "engine/sale"},
    PublicHeader{"rushgate/sale_keys.h", "engine/sale/model"},
    PublicHeader{"rushgate/user_id.h", "engine/sale/model"},
    PublicHeader{"rushgate/voucher.h", "engine/sale/model"},
    PublicHeader{"rushgate/memory_order_store.h", "storage/memory"},
    PublicHeader{"rushgate/memory_store.h", "storage/memory"},
    PublicHeader{"rushgate/rocksdb_store.h", "storage/rocksdb"},
    PublicHeader{"rushgate/sqlite_order_store.h", "storage/sqlite"},
    PublicHeader{"rushgate/postgresql_order_store.h", "storage/postgresql"},
    PublicHeader{"rushgate/mysql_order_store.h", "storage/mysql"},
    PublicHeader{"rushgate/flash_sale.h", "adapters/flash_sale"},
    PublicHeader{"rushgate/sale_commands.h", "adapters/flash_sale"},
    PublicHeader{"rushgate/sale_statistics.h", "adapters/flash_sale"},
    PublicHeader{"rushgate/metrics.h", "adapters/metrics"},
    PublicHeader{"rushgate/http_server.h", "adapters/http"},
    PublicHeader{"rushgate/redis_backend.h", "adapters/redis"},
    PublicHeader{"rushgate/resp_server.h", "adapters/resp"},
    PublicHeader{"rushgate/open_backend.h", "adapters/wiring"},
    PublicHeader{"rushgate/open_order_store.h", "adapters/wiring"},
    PublicHeader{"rushgate/order_store_contract.h", "adapters/testing"},
    PublicHeader{"rushgate/payment_store_contract.h", "adapters/testing"},
    PublicHeader{"rushgate/random_seed.h", "adapters/testing"},
    PublicHeader{"rushgate/store_contract.h", "adapters/testing"},
    PublicHeader{"rushgate/test_engine.h", "adapters/testing"},
    PublicHeader{"rushgate/testing.h", "adapters/testing"},
    PublicHeader{"rushgate/testing_rush.h", "adapters/testing"},
    PublicHeader{"rushgate/simulated_cluster.h", "adapters/testing"},
    PublicHeader{"rushgate/testing_stores.h", "adapters/testing"},
    PublicHeader{"rushgate/voucher_store_contract.h", "adapters/testing"},
};

/// External headers that a part of the tree must not include. Files whose path begins with `except`
/// may include them.
struct IncludeBan {
  string_view part;
  string_view header;  // the beginning of the header's name
  string_view except = {};
};

constexpr std::array kIncludeBans = {
    // The engine does no I/O. Only storage/ and adapters/ do.
    IncludeBan{"engine", "rocksdb/"},
    IncludeBan{"engine", "sqlite3"},
    IncludeBan{"engine", "SQLiteCpp/"},
    IncludeBan{"engine", "hiredis"},
    IncludeBan{"engine", "libpq"},
    IncludeBan{"engine", "mysql"},
    IncludeBan{"engine", "sys/socket.h"},
    IncludeBan{"engine", "sys/un.h"},
    IncludeBan{"engine", "netinet/"},
    IncludeBan{"engine", "arpa/"},
    IncludeBan{"engine", "netdb.h"},
    IncludeBan{"engine", "boost/asio"},
    IncludeBan{"engine", "boost/beast"},
    // Boost.Fiber is optional: only rushgate::fiber includes it.
    IncludeBan{"engine", "boost/fiber", "engine/core/client/fiber_"},
    IncludeBan{"engine", "boost/context", "engine/core/client/fiber_"},
};

/// Folders for the private headers of libraries.
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

const PublicHeader* find_public(string_view name) {
  const auto* const found =
      std::find_if(kPublicHeaders.begin(), kPublicHeaders.end(),
                   [&](const PublicHeader& header) { return header.name == name; });
  return found == kPublicHeaders.end() ? nullptr : found;
}

/// Returns the name that includes the public header in `path`; empty for other files.
string_view public_name(string_view path) {
  constexpr string_view kFolder = "/include/";
  const std::size_t at = path.find("/include/rushgate/");
  return at == string_view::npos ? string_view() : path.substr(at + kFolder.size());
}

const Module* module_of(string_view path) {
  const PublicHeader* const header = find_public(public_name(path));
  const auto found = std::find_if(kModules.begin(), kModules.end(), [&](const Module& module) {
    return header != nullptr ? module.path == header->module : stands_in(path, module.path);
  });
  return found == kModules.end() ? nullptr : &*found;
}

/// The path between the quotes or brackets of an #include line.
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

bool may_include(const Module& module, string_view other) {
  return other == module.path ||
         std::any_of(module.may_include.begin(), module.may_include.end(),
                     [&](string_view path) { return other == path || stands_in(other, path); });
}

/// Returns the rule that this include breaks in `file`, if any.
std::optional<std::string> broken_rule(string_view file, const Module* module, Include include) {
  const auto say = [](auto... parts) { return (std::string() + ... + std::string(parts)); };
  for (const IncludeBan& ban : kIncludeBans) {
    const bool excepted = !ban.except.empty() && file.starts_with(ban.except);
    if (stands_in(file, ban.part) && include.header.starts_with(ban.header) && !excepted) {
      return say(ban.part, "/ must not include ", include.header);
    }
  }
  if (include.header.starts_with("rushgate/")) {
    const PublicHeader* const header = find_public(include.header);
    if (header == nullptr) return say(include.header, " is not in the table of public headers");
    if (include.quoted) return say(include.header, " is a public header, which needs <>");
    if (module == nullptr) return say(file, " is in no module of the table");
    if (may_include(*module, header->module)) return std::nullopt;
    return say(module->path, " must not include ", include.header);
  }
  if (!stands_in_any(include.header, kOurs)) {
    if (include.quoted && include.header.find('/') == string_view::npos) {
      return say("\"", include.header, "\" is not written from the root of the repository");
    }
    // An external header that is not banned.
    for (const string_view folder : kPrivateFolders) {
      if (include.header.find(folder) != string_view::npos) {
        return say(include.header, " is private to its library");
      }
    }
    return std::nullopt;
  }
  if (module == nullptr) return say(file, " is in no module of the table");
  if (!public_name(file).empty()) {
    return say("a public header must not include ", include.header);
  }
  if (stands_in(include.header, module->path) ||
      stands_in_any(include.header, module->may_include)) {
    return std::nullopt;
  }
  return say(module->path, " must not include ", include.header);
}

}  // namespace

std::vector<Violation> check_includes(string_view file, string_view text) {
  const Module* const module = module_of(file);
  std::vector<Violation> violations;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::optional<Include> include = parse_include(line);
    if (!include) continue;
    if (std::optional<std::string> rule = broken_rule(file, module, *include)) {
      violations.push_back({std::string(file), number, *std::move(rule)});
    }
  }
  return violations;
}

}  // namespace rushgate::structure
