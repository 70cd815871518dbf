// The pages for browsers: files that are compiled into the library (pages/files).
#pragma once

#include <optional>
#include <span>

#include "adapters/http/exchange.h"
#include "engine/core/base/embedded_file.h"

namespace rushgate {

/// Returns the files of pages/files.
std::span<const EmbeddedFile> page_files();

namespace http {

/// Returns the reply to a request for a page or a part of one; nothing if its path names none. The
/// buyer's page is at "/", another x.html at "/x", and all other files are at "/pages/". Pages are for
/// anyone: what they show, they ask the routes for. `has_test_provider`: "/test-provider" exists.
std::optional<HttpAnswer> answer_page(const HttpCall& call, bool has_test_provider);

}  // namespace http
}  // namespace rushgate
