-- A script of wrk: buys once for each user. Its arguments are the number of the first one, and how many
-- requests are sent at once.
local user
local pipeline

function init(arguments)
  user = tonumber(arguments[1])
  pipeline = tonumber(arguments[2])
end

function request()
  local requests = {}
  for i = 1, pipeline do
    user = user + 1
    requests[i] = wrk.format("POST", nil, {["Content-Type"] = "application/json"},
                             string.format('{"user":%d}', user))
  end
  return table.concat(requests)
end

-- Prints replies, seconds, refusals, requests without a reply, and the 99th percentile in µs.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("purchases: %d %f %d %d %f\n", summary.requests, summary.duration / 1e6,
                         errors.status, errors.connect + errors.read + errors.write + errors.timeout,
                         latency:percentile(99)))
end
