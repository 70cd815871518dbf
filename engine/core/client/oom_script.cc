#include "engine/core/client/oom_script.h"

#include "engine/core/base/concat.h"
#include "engine/core/client/redis_error_code.h"

namespace rushgate {

std::string allow_oom(std::string_view text) { return concat("#!lua flags=allow-oom\n", text); }

Reply OomScript::run(Client& client, std::span<const std::string_view> keys,
                     std::span<const std::string_view> arguments) const {
  Reply reply = client.run(script, keys, arguments);
  const bool lacks_memory = has_code(reply, redis_error_code::kOutOfMemory);
  return lacks_memory ? client.run(without_memory, keys, arguments) : reply;
}

OomScript make_oom_script(std::string_view text) {
  return {.script = Script(std::string(text)), .without_memory = Script(allow_oom(text))};
}

}  // namespace rushgate
