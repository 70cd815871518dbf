#include "engine/sale/scripts/keyspace_run.h"

#include <string>

#include "engine/core/base/random_name.h"

namespace rushgate {

const Script& keyspace_run_script() {
  static const Script* const kScript = new Script("return ''", std::string(kNativeKeyspaceRun));
  return *kScript;
}

NativeScript native_keyspace_run() {
  return [name = random_name()](NativeCall&) { return Reply::bulk(name); };
}

}  // namespace rushgate
