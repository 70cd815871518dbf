// CLIENT TRACKING: https://redis.io/docs/latest/commands/client-tracking/
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/clients.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/commands/command_families.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/sessions.h"
#include "engine/redis/commands/tracking_table.h"

namespace rushgate {
namespace {

// ---- Errors ----

Reply second_redirection() {
  return Reply::error("ERR A client can only redirect to a single other client");
}
Reply no_redirection_target() {
  return Reply::error("ERR The client ID you want redirect to does not exist");
}
Reply prefix_without_broadcast() {
  return Reply::error("ERR PREFIX option requires BCAST mode to be enabled");
}
Reply broadcast_switched() {
  return Reply::error(
      "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then "
      "re-enabling it with a different mode.");
}
Reply broadcast_with_choice() {
  return Reply::error("ERR OPTIN and OPTOUT are not compatible with BCAST");
}
Reply both_choices() {
  return Reply::error("ERR You can't specify both OPTIN mode and OPTOUT mode");
}
Reply choice_switched() {
  return Reply::error(
      "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then "
      "re-enabling it with a different mode.");
}
Reply overlap(std::string_view prefix, std::string_view other, bool is_provided) {
  std::string text = "ERR Prefix '";
  text.append(errors::as_c_string(prefix)).append("' overlaps with ");
  text.append(is_provided ? "another provided" : "an existing").append(" prefix '");
  text.append(errors::as_c_string(other));
  text.append("'. Prefixes for a single client must not overlap.");
  return errors::one_line(std::move(text));
}
Reply caching_without_tracking() {
  return Reply::error(
      "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
      "OPTOUT mode enabled");
}
Reply caching_without_mode(std::string_view value, std::string_view mode) {
  return Reply::error("ERR CLIENT CACHING " + std::string(value) +
                      " is only valid when tracking is enabled in " + std::string(mode) + " mode.");
}

// ---- TRACKING ----

struct TrackingOptions {
  KeyTracking tracking;                    // without the prefixes
  std::vector<std::string_view> prefixes;  // in the order of the request
};

/// Reads the id after REDIRECT. The client must exist now; it may leave later.
std::uint64_t read_redirection(const CommandContext& context, Arguments& arguments,
                               const TrackingOptions& options) {
  const std::string_view text = arguments.next();
  if (options.tracking.redirect != 0) arguments.fail(second_redirection());
  const auto id = static_cast<std::uint64_t>(arguments.to_integer(text));
  if (context.services().sessions.find(id) == nullptr) arguments.fail(no_redirection_target());
  return id;
}

TrackingOptions read_tracking_options(const CommandContext& context, Arguments& arguments) {
  TrackingOptions options;
  KeyTracking& tracking = options.tracking;
  while (!arguments.at_end()) {
    if (arguments.left() > 1 && arguments.accept("REDIRECT")) {
      tracking.redirect = read_redirection(context, arguments, options);
    } else if (arguments.accept("BCAST")) {
      tracking.broadcasts = true;
    } else if (arguments.accept("OPTIN")) {
      tracking.opts_in = true;
    } else if (arguments.accept("OPTOUT")) {
      tracking.opts_out = true;
    } else if (arguments.accept("NOLOOP")) {
      tracking.skips_own = true;
    } else if (arguments.left() > 1 && arguments.accept("PREFIX")) {
      options.prefixes.push_back(arguments.next());
    } else {
      arguments.fail(errors::syntax());
    }
  }
  return options;
}

/// Returns true if one of them begins with the other.
bool overlaps(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

/// Finds whether a string overlaps with one of many.
class OverlapFinder {
 public:
  /// Returns true if it overlaps with one that was added earlier.
  bool add(std::string_view prefix) {
    // Strings that begin with another one need not be stored: all that overlap with them also
    // overlap with that one. So the one that `prefix` begins with is the one before it.
    auto next = shortest_.lower_bound(prefix);
    if (next != shortest_.begin() && prefix.starts_with(*std::prev(next))) return true;
    const auto first = next;
    while (next != shortest_.end() && next->starts_with(prefix)) ++next;
    const bool overlaps = next != first;
    shortest_.insert(shortest_.erase(first, next), prefix);
    return overlaps;
  }

 private:
  std::set<std::string_view> shortest_;
};

std::optional<Reply> check_prefixes(const Session& session,
                                    const std::vector<std::string_view>& prefixes) {
  static const std::set<std::string, std::less<>> kNoPrefixes;
  const auto& existing = session.tracking ? session.tracking->prefixes : kNoPrefixes;
  OverlapFinder finder;
  for (const std::string& prefix : existing) finder.add(prefix);
  auto first = prefixes.rend();
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
    if (finder.add(*prefix)) first = prefix;
  }
  if (first == prefixes.rend()) return std::nullopt;
  const auto overlaps_first = [&](std::string_view other) { return overlaps(*first, other); };
  const auto old = std::ranges::find_if(existing, overlaps_first);
  if (old != existing.end()) return overlap(*first, *old, false);
  return overlap(*first, *std::find_if(first.base(), prefixes.end(), overlaps_first), true);
}

/// Returns an error if the options contradict each other or the present mode.
std::optional<Reply> check_tracking_options(const Session& session,
                                            const TrackingOptions& options) {
  const KeyTracking& wanted = options.tracking;
  const std::optional<KeyTracking>& old = session.tracking;
  if (!wanted.broadcasts && !options.prefixes.empty()) return prefix_without_broadcast();
  if (old && old->broadcasts != wanted.broadcasts) return broadcast_switched();
  if (wanted.broadcasts && (wanted.opts_in || wanted.opts_out)) return broadcast_with_choice();
  if (wanted.opts_in && wanted.opts_out) return both_choices();
  if (old && ((wanted.opts_in && old->opts_out) || (wanted.opts_out && old->opts_in)))
    return choice_switched();
  return wanted.broadcasts ? check_prefixes(session, options.prefixes) : std::nullopt;
}

Reply begin_tracking(CommandContext& context, TrackingOptions options) {
  Session& session = context.session();
  if (auto error = check_tracking_options(session, options)) return *std::move(error);
  if (session.outlet == nullptr && options.tracking.redirect == 0)
    return errors::takes_no_messages();
  options.tracking.prefixes.insert(options.prefixes.begin(), options.prefixes.end());
  const bool broadcasts_all = options.tracking.broadcasts && options.prefixes.empty();
  if (broadcasts_all) options.tracking.prefixes.emplace();
  context.services().tracking.enable(session, options.tracking);
  return Reply::ok();
}

Reply client_tracking_command(CommandContext& context) {
  Arguments arguments(context.request(), 3);
  TrackingOptions options = read_tracking_options(context, arguments);
  if (!arguments.ok()) return arguments.take_error();
  if (is_keyword(context[2], "ON")) return begin_tracking(context, std::move(options));
  if (!is_keyword(context[2], "OFF")) return errors::syntax();
  context.services().tracking.disable(context.session());
  return Reply::ok();
}

// ---- The others ----

Reply client_caching_command(CommandContext& context) {
  std::optional<KeyTracking>& tracking = context.session().tracking;
  if (!tracking) return caching_without_tracking();
  if (is_keyword(context[2], "YES")) {
    if (!tracking->opts_in) return caching_without_mode("YES", "OPTIN");
  } else if (is_keyword(context[2], "NO")) {
    if (!tracking->opts_out) return caching_without_mode("NO", "OPTOUT");
  } else {
    return errors::syntax();
  }
  tracking->caching_is_set = true;
  return Reply::ok();
}

Reply client_getredir_command(CommandContext& context) {
  return Reply::integer(redirection_of(context.session()));
}

std::vector<Reply> flags_of(const std::optional<KeyTracking>& tracking) {
  if (!tracking) return {Reply::bulk("off")};
  std::vector<Reply> flags = {Reply::bulk("on")};
  const auto add_if = [&flags](bool is_set, const char* flag) {
    if (is_set) flags.push_back(Reply::bulk(flag));
  };
  add_if(tracking->broadcasts, "bcast");
  add_if(tracking->opts_in, "optin");
  add_if(tracking->opts_in && tracking->caching_is_set, "caching-yes");
  add_if(tracking->opts_out, "optout");
  add_if(tracking->opts_out && tracking->caching_is_set, "caching-no");
  add_if(tracking->skips_own, "noloop");
  add_if(tracking->redirect_is_broken, "broken_redirect");
  return flags;
}

Reply client_trackinginfo_command(CommandContext& context) {
  const std::optional<KeyTracking>& tracking = context.session().tracking;
  std::vector<Reply> prefixes;
  if (tracking) {
    for (const std::string& prefix : tracking->prefixes) prefixes.push_back(Reply::bulk(prefix));
  }
  return Reply::map({Reply::bulk("flags"), Reply::set(flags_of(tracking)), Reply::bulk("redirect"),
                     Reply::integer(redirection_of(context.session())), Reply::bulk("prefixes"),
                     Reply::array(std::move(prefixes))});
}

// ---- The records ----

constexpr CommandSpec kTrackingCommands[] = {
    {.name = "client|caching",
     .function = client_caching_command,
     .arity = 3,
     .flags = kNoScript | kAnytime,
     .syntax = "<YES | NO>",
     .summary = "Sets whether the keys of the next command are tracked.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "client|getredir",
     .function = client_getredir_command,
     .arity = 2,
     .flags = kNoScript | kAnytime,
     .summary = "Returns the client that gets messages about changed keys; -1 for none.",
     .since = "6.0.0",
     .complexity = "O(1)"},
    {.name = "client|tracking",
     .function = client_tracking_command,
     .arity = -3,
     .flags = kNoScript | kAnytime,
     .syntax =
         "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] "
         "[OPTOUT] [NOLOOP]",
     .summary = "Sets whether the client gets messages about changes of the keys it has read.",
     .since = "6.0.0",
     .complexity = "O(1). Some options may introduce additional complexity."},
    {.name = "client|trackinginfo",
     .function = client_trackinginfo_command,
     .arity = 2,
     .flags = kNoScript | kAnytime,
     .summary = "Describes the tracking of the client's keys.",
     .since = "6.2.0",
     .complexity = "O(1)"},
};

}  // namespace

CommandFamily tracking_commands() { return {CommandGroup::kConnection, kTrackingCommands}; }

}  // namespace rushgate
