#include "adapters/http/pages/pages.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "adapters/http/problem.h"
#include "engine/core/base/concat.h"

namespace rushgate::http {
namespace {

constexpr std::string_view kTestProvider = "/test-provider";

/// The script that stands in each page itself, where a page has the tag kInlineTag.
constexpr std::string_view kInlineScript = "load.js";
constexpr std::string_view kInlineTag = "<script data-inline=\"load.js\"></script>";

struct Page {
  std::string_view type;
  std::string text;
  std::string etag;
};

struct Pages {
  std::map<std::string, Page, std::less<>> by_path;
  std::string policy;  // Content-Security-Policy
};

std::string_view media_type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

std::string path_of(std::string_view name) {
  constexpr std::string_view kHtml = ".html";
  if (name == "buyer.html") return "/";
  if (name.ends_with(kHtml)) return concat("/", name.substr(0, name.size() - kHtml.size()));
  return concat("/pages/", name);
}

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return {digest.begin(), digest.begin() + size};
}

/// Returns a name of the contents: browsers ask whether it is still the same.
std::string page_etag(std::string_view text) {
  constexpr std::size_t kBytes = 8;
  return concat("\"", absl::BytesToHexString(sha256(text).substr(0, kBytes)), "\"");
}

/// Nothing is loaded from elsewhere, nothing runs that is neither a file nor `inline_script`, and text
/// never becomes markup.
std::string page_policy(std::string_view inline_script) {
  return concat("default-src 'none'; script-src 'self' 'sha256-",
                absl::Base64Escape(sha256(inline_script)),
                "'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                "require-trusted-types-for 'script'; trusted-types 'none'");
}

Pages make_pages() {
  const auto files = page_files();
  const auto inlined = std::ranges::find(files, kInlineScript, &EmbeddedFile::name);
  Pages pages;
  pages.policy = page_policy(inlined->text);
  const std::string element = concat("<script>", inlined->text, "</script>");
  for (const EmbeddedFile& file : files) {
    std::string text(file.text);
    const std::size_t tag = text.find(kInlineTag);
    if (tag != std::string::npos) text.replace(tag, kInlineTag.size(), element);
    std::string etag = page_etag(text);
    pages.by_path[path_of(file.name)] = {
        .type = media_type_of(file.name), .text = std::move(text), .etag = std::move(etag)};
  }
  return pages;
}

}  // namespace

std::optional<HttpAnswer> answer_page(const HttpCall& call, bool has_test_provider) {
  static const Pages kPages = make_pages();
  const std::string_view path = std::string_view(call.target).substr(0, call.target.find('?'));
  const auto found = kPages.by_path.find(path);
  if (found == kPages.by_path.end() || (path == kTestProvider && !has_test_provider))
    return std::nullopt;
  if (call.method != "GET") {
    HttpAnswer refusal = problem(kMethodNotAllowed);
    refusal.fields.emplace_back("Allow", "GET");
    return refusal;
  }
  constexpr int kNotModified = 304;
  const Page& page = found->second;
  HttpAnswer answer;
  answer.type = page.type;
  answer.policy = kPages.policy;
  answer.caching = "no-cache";  // keep it, and ask each time
  answer.fields = {{"ETag", page.etag}, {"Referrer-Policy", "no-referrer"}};
  if (call.if_none_match == page.etag) {
    answer.status = kNotModified;
  } else {
    answer.body = page.text;
  }
  return answer;
}

}  // namespace rushgate::http
