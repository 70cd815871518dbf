// A native script that holds the turn until it is released.
#pragma once

#include <latch>

#include <rushgate/request.h>
#include <rushgate/script.h>

namespace rushgate {

/// Serves one call.
struct Holder {
  std::latch entered{1};
  std::latch released{1};

  NamedScript script() {
    return {"hold", [this](NativeCall&) {
              entered.count_down();
              released.wait();
              return Reply::ok();
            }};
  }
  static Request request() { return Request::of("FCALL", "hold", 0); }
};

}  // namespace rushgate
