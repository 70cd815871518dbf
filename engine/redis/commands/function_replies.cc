#include "engine/redis/commands/function_replies.h"

#include <chrono>
#include <cstdint>
#include <utility>

namespace rushgate::function_replies {

Reply function(const LuaFunction& function) {
  Reply flags = Reply::set();
  for (const NamedScriptFlag& flag : kScriptFlags) {
    if (function.flags.*flag.member)
      flags.mutable_elements().push_back(Reply::status(std::string(flag.name)));
  }
  return Reply::map({Reply::bulk("name"), Reply::bulk(function.name), Reply::bulk("description"),
                     function.description ? Reply::bulk(*function.description) : Reply::nil(),
                     Reply::bulk("flags"), std::move(flags)});
}

Reply library(std::string_view name, std::string_view engine, std::vector<Reply> functions,
              const std::string* code) {
  std::vector<Reply> entry = {Reply::bulk("library_name"), Reply::bulk(name),
                              Reply::bulk("engine"),       Reply::bulk(engine),
                              Reply::bulk("functions"),    Reply::array(std::move(functions))};
  if (code != nullptr) {
    entry.push_back(Reply::bulk("library_code"));
    entry.push_back(Reply::bulk(*code));
  }
  return Reply::map(std::move(entry));
}

Reply running(const RunningScript& running) {
  const auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - running.function_began);
  Reply command = Reply::array();
  for (const std::string_view argument : running.function_call)
    command.mutable_elements().push_back(Reply::bulk(argument));
  return Reply::map({Reply::bulk("name"), Reply::bulk(running.name), Reply::bulk("command"),
                     std::move(command), Reply::bulk("duration_ms"),
                     Reply::integer(duration.count())});
}

Reply engine(std::size_t libraries, std::size_t functions) {
  return Reply::map(
      {Reply::bulk("libraries_count"), Reply::integer(static_cast<std::int64_t>(libraries)),
       Reply::bulk("functions_count"), Reply::integer(static_cast<std::int64_t>(functions))});
}

}  // namespace rushgate::function_replies
