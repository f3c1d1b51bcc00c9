-- Tells wrk to send every line of a file in turn, and prints what it found as one line of JSON.

local PAUSE_MS = 100
local requests, sent, to_come = {}, 0, 0

function init(args)
  for body in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, nil, body)
  end
  to_come = tonumber(args[2])
end

-- The first request of each connection waits until all are open: a server under load takes new
-- ones only now and then, and that would be most of what is above the 99th percentile.
function delay()
  if to_come == 0 then
    return 0
  end
  to_come = to_come - 1
  return PAUSE_MS
end

function request()
  sent = sent % #requests + 1
  return requests[sent]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'figures: {"n_requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f, '
      .. '"errors": {"connect": %d, "read": %d, "write": %d, "timeout": %d, "status": %d}}\n',
    summary.requests, summary.duration / 1e6 - PAUSE_MS / 1e3,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3,
    errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
