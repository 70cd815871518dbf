#include <rushgate/test_engine.h>

namespace rushgate::testing {

TestEngine::TestEngine(TestEngineOptions options)
    : options_(std::move(options)), clock_(options_.now_ms) {
  open();
}

void TestEngine::restart() {
  client_.reset();
  engine_.reset();
  open();
}

void TestEngine::open() {
  auto store = open_store();
  store_ = store.get();
  EngineOptions options = options_.engine;
  options.manual_clock = &clock_;
  auto engine = Engine::open(std::move(store), std::move(options), options_.native_scripts);
  if (!engine.ok()) throw std::runtime_error(engine.status().ToString());
  engine_ = *std::move(engine);
  client_ = engine_->open_client(options_.client);
}

std::unique_ptr<faults::FaultyStore> TestEngine::open_store() {
  if (!options_.open_store) return std::make_unique<faults::FaultyStore>(memory_);
  auto store = options_.open_store();
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  if (*store == nullptr) throw std::runtime_error("TestEngineOptions::open_store gave no store");
  return std::make_unique<faults::FaultyStore>(*std::move(store));
}

Reply TestEngine::eval(std::string_view script, const std::vector<std::string>& keys,
                       const std::vector<std::string>& arguments) {
  const std::vector<std::string_view> key_views(keys.begin(), keys.end());
  const std::vector<std::string_view> argument_views(arguments.begin(), arguments.end());
  return client().call(make_script_request("EVAL", script, key_views, argument_views));
}

}  // namespace rushgate::testing
