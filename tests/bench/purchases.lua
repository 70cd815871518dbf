-- A script of wrk: buys once for each user. Its argument is the number of the first one.
local user

function init(arguments)
  user = tonumber(arguments[1])
end

function request()
  user = user + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"},
                    string.format('{"user":%d}', user))
end

-- Prints replies, seconds, refusals, requests without a reply, and the 99th percentile in µs.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("purchases: %d %f %d %d %f\n", summary.requests, summary.duration / 1e6,
                         errors.status, errors.connect + errors.read + errors.write + errors.timeout,
                         latency:percentile(99)))
end
