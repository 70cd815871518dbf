#include "tests/support/json_schema.h"

#include <algorithm>
#include <regex>
#include <stdexcept>

namespace rushgate::testing {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "null") return value.is_null();
  throw std::runtime_error("unknown type " + type);
}

bool has_any_type(const Json& value, const Json& types) {
  if (types.is_string()) return has_type(value, types);
  return std::any_of(types.begin(), types.end(),
                     [&](const Json& type) { return has_type(value, type); });
}

bool has_format(const Json& value, const std::string& format) {
  static const std::regex kTime(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
  static const std::regex kUri(R"([a-z]+:[^\s]+)");
  if (!value.is_string()) return true;
  return std::regex_match(value.get<std::string>(), format == "date-time" ? kTime : kUri);
}

std::string properties_misfit(const Json& value, const Json& schema, const Json& document,
                              const std::string& path) {
  if (!value.is_object()) return {};
  const Json none = Json::object();
  const Json& properties = schema.contains("properties") ? schema["properties"] : none;
  for (const auto& [name, field] : value.items()) {
    const std::string place = path + "." + name;
    std::string misfit;
    if (properties.contains(name)) {
      misfit = find_misfit(field, properties[name], document, place);
    } else if (schema.contains("additionalProperties")) {
      const Json& others = schema["additionalProperties"];
      if (others.is_object()) misfit = find_misfit(field, others, document, place);
      if (others == false) misfit = place + " is no property";
    }
    if (!misfit.empty()) return misfit;
  }
  return {};
}

}  // namespace

std::string find_misfit(const Json& value, const Json& schema, const Json& document,
                        const std::string& path) {
  for (const auto& [keyword, rule] : schema.items()) {
    std::string misfit;
    bool fits = true;
    if (keyword == "$ref") {
      const Json& target = document.at(Json::json_pointer(rule.get<std::string>().substr(1)));
      misfit = find_misfit(value, target, document, path);
    } else if (keyword == "type") {
      fits = has_any_type(value, rule);
    } else if (keyword == "enum") {
      fits = std::find(rule.begin(), rule.end(), value) != rule.end();
    } else if (keyword == "const") {
      fits = value == rule;
    } else if (keyword == "format") {
      fits = has_format(value, rule);
    } else if (keyword == "pattern") {
      fits = !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    } else if (keyword == "minLength") {
      fits = !value.is_string() || value.get<std::string>().size() >= rule.get<std::size_t>();
    } else if (keyword == "maxLength") {
      fits = !value.is_string() || value.get<std::string>().size() <= rule.get<std::size_t>();
    } else if (keyword == "required") {
      for (const Json& name : rule) {
        if (value.is_object() && !value.contains(name.get<std::string>())) {
          misfit = path + " lacks " + name.dump();
        }
      }
    } else if (keyword == "properties" || keyword == "additionalProperties") {
      misfit = properties_misfit(value, schema, document, path);
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size() && misfit.empty(); ++i) {
        misfit = find_misfit(value[i], rule, document, path + "[" + std::to_string(i) + "]");
      }
    } else if (keyword == "allOf") {
      for (const Json& part : rule) {
        if (misfit.empty()) misfit = find_misfit(value, part, document, path);
      }
    } else if (keyword == "oneOf") {
      fits = std::count_if(rule.begin(), rule.end(), [&](const Json& part) {
               return find_misfit(value, part, document, path).empty();
             }) == 1;
    } else if (keyword != "description" && keyword != "examples") {
      throw std::runtime_error("unknown keyword " + keyword);
    }
    if (!misfit.empty()) return misfit;
    if (!fits) return path + " is " + value.dump() + ", against " + keyword + " " + rule.dump();
  }
  return {};
}

}  // namespace rushgate::testing
