// The figures of the sale and of the server.
#include <cstddef>
#include <string>
#include <utility>

#include "adapters/flash_sale/statistics_json.h"
#include "adapters/http/json_body.h"
#include "adapters/http/route.h"
#include "adapters/http/sale_service.h"
#include "adapters/metrics/http_figures.h"
#include "adapters/metrics/metrics_text.h"
#include "engine/core/base/concat.h"
#include <rushgate/metrics.h>

namespace rushgate::http {
namespace {

Json to_json(const HttpFigures& figures) {
  Json routes = Json::array();
  for (const HttpFigures::Route& route : figures.routes) {
    Json json = {{"method", route.method}, {"route", route.path}};
    for (std::size_t digit = 0; digit < route.replies.size(); ++digit) {
      if (route.replies[digit] > 0) json[concat(digit, "xx")] = route.replies[digit];
    }
    routes.push_back(std::move(json));
  }
  Json lanes = Json::array();
  for (const HttpFigures::Lane& lane : figures.lanes) {
    lanes.push_back({{"lane", lane.name},
                     {"waiting", lane.waiting},
                     {"latency", rushgate::to_json(lane.latency)}});
  }
  return {{"connections", figures.connections},
          {"event_streams", figures.event_streams},
          {"refused_connections", figures.refused_connections},
          {"routes", std::move(routes)},
          {"lanes", std::move(lanes)}};
}

}  // namespace

HttpAnswer get_statistics(RouteCall& call) {
  Json json = rushgate::to_json(call.sale().statistics());
  json["http"] = to_json(call.service.figures());
  return json_answer(json);
}

HttpAnswer get_metrics(RouteCall& call) {
  const HttpFigures figures = call.service.figures();
  HttpAnswer answer;
  answer.type = kMetricsType;
  answer.body = metrics_text(call.sale().statistics(), &figures);
  return answer;
}

}  // namespace rushgate::http
