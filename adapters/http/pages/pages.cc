#include "adapters/http/pages/pages.h"

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "adapters/http/problem.h"
#include "engine/core/base/concat.h"

namespace rushgate::http {
namespace {

constexpr std::string_view kTestProvider = "/test-provider";

/// Nothing is loaded from elsewhere, nothing runs that is not a file, and text never becomes markup.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

struct Page {
  std::string_view type;
  std::string_view text;
  std::string etag;
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

/// Returns a name of the contents: browsers ask whether it is still the same.
std::string page_etag(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kBytes = 8;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::string etag = "\"";
  for (std::size_t i = 0; i < kBytes; ++i) {
    etag += kDigits[digest[i] / 16];
    etag += kDigits[digest[i] % 16];
  }
  return etag + '"';
}

std::map<std::string, Page, std::less<>> make_pages() {
  std::map<std::string, Page, std::less<>> pages;
  for (const EmbeddedFile& file : page_files()) {
    pages[path_of(file.name)] = {
        .type = media_type_of(file.name), .text = file.text, .etag = page_etag(file.text)};
  }
  return pages;
}

}  // namespace

std::optional<HttpAnswer> answer_page(const HttpCall& call, bool has_test_provider) {
  static const auto kPages = make_pages();
  const std::string_view path = std::string_view(call.target).substr(0, call.target.find('?'));
  const auto found = kPages.find(path);
  if (found == kPages.end() || (path == kTestProvider && !has_test_provider)) return std::nullopt;
  if (call.method != "GET") {
    HttpAnswer refusal = problem(kMethodNotAllowed);
    refusal.fields.emplace_back("Allow", "GET");
    return refusal;
  }
  constexpr int kNotModified = 304;
  const Page& page = found->second;
  HttpAnswer answer;
  answer.type = page.type;
  answer.policy = kPagePolicy;
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
