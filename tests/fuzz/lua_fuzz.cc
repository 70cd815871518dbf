// Scripts with any contents, and the script libraries on any bytes, under tight limits. The
// interpreter continues, and the next script finds the initial state.
//
// The first byte chooses the target. The rest is the script or its argument.
#include <iterator>
#include <string_view>
#include <vector>

#include "engine/redis/script/lua_host.h"
#include "tests/fuzz/fuzz.h"

namespace rushgate {
namespace {

/// Replies to commands, and kills a script as soon as it exceeds its time.
class Surroundings final : public CommandCaller, public BusyMonitor {
 public:
  Reply call(RequestView request) override {
    switch (request.size() % 6) {
      case 0:
        return Reply::ok();
      case 1:
        return Reply::error("ERR no such thing");
      case 2:
        return Reply::bulk(request.back());
      case 3:
        return Reply::map({Reply::bulk(request[1]), Reply::real(0.5)});
      case 4:
        return Reply::set({Reply::integer(1), Reply::nil(), Reply::boolean(true)});
      default:
        return Reply::array({Reply::array(), Reply::verbatim("txt:text"), Reply::error("ERR")});
    }
  }
  [[nodiscard]] bool knows(RequestView request) const override { return request.size() > 1; }
  void set_protocol(int) override {}
  bool poll() override { return true; }
};

constexpr LuaLimits kTight{.busy_after_ms = 1, .memory_bytes_max = 2'000'000};

constexpr std::string_view kOnBytes[] = {
    // struct: a format, and data or a value to pack
    "return {struct.unpack(ARGV[1], ARGV[2], tonumber(ARGV[3]))}",
    "return struct.pack(ARGV[1], ARGV[2], ARGV[3], 1, -1.5, 2^60, ARGV[2], ARGV[3], 7, 8, 9)",
    "return struct.size(ARGV[1])",
    // cmsgpack: an unpacked value can be packed and is then equal
    R"(local value = cmsgpack.unpack_one(ARGV[1])
       local packed = cmsgpack.pack(value)
       assert(cmsgpack.unpack(packed) ~= nil or value == nil)
       return packed)",
    "return {cmsgpack.unpack_limit(ARGV[1], #ARGV[2], tonumber(ARGV[3]))}",
    "return cmsgpack.pack(cjson.decode(ARGV[1]), ARGV[2], tonumber(ARGV[3]))",
    // cjson, bit, patterns, formats
    "return cjson.encode(cjson.decode(ARGV[1]))",
    "return bit.tohex(tonumber(ARGV[1]), tonumber(ARGV[2]))",
    "return {ARGV[1]:find(ARGV[2]), ARGV[1]:gsub(ARGV[2], ARGV[3])}",
    "return string.format(ARGV[1], ARGV[2], ARGV[3], 1, 2, 3)",
    "return loadstring(ARGV[1], ARGV[2])",
    "return select('#', unpack({}, tonumber(ARGV[1]), tonumber(ARGV[2])))",
};

constexpr std::string_view kWhatThereIs = R"(
local names = {}
for name, value in pairs(_G) do
  names[#names + 1] = name
  if type(value) == 'table' and name ~= '_G' then
    for key in pairs(value) do names[#names + 1] = name .. '.' .. key end
  end
end
table.sort(names)
return names)";

class Machine {
 public:
  Reply eval(std::string_view text, const std::vector<std::string_view>& arguments = {}) {
    Reply error;
    const LuaScript* const script = host_.load(text, error);
    if (script == nullptr) return error;
    const std::vector<std::string_view> no_keys;
    return host_.run(*script, {no_keys, arguments, 0, surroundings_}).reply;
  }

 private:
  Surroundings surroundings_;
  LuaHost host_{kTight, surroundings_, nullptr};
};

}  // namespace
}  // namespace rushgate

RUSHGATE_FUZZER(lua) {
  using rushgate::kOnBytes;
  rushgate::fuzz::Input input(data, size);
  const std::size_t choice = input.byte();
  rushgate::Machine machine;
  if (choice < std::size(kOnBytes)) {
    const std::string_view first = input.text();
    const std::string_view second = input.text();
    machine.eval(kOnBytes[choice], {first, second, input.rest()});
  } else {
    machine.eval(input.rest(), {"argument", "5"});
  }
  static const rushgate::Reply kAtFirst = rushgate::Machine().eval(rushgate::kWhatThereIs);
  rushgate::fuzz::expect(machine.eval(rushgate::kWhatThereIs) == kAtFirst,
                         "a script leaves nothing behind");
  return 0;
}
