-- Posts the bodies in a file one after the other, counts statuses, and pauses between requests if it is told to.
local bodies, statuses, place = {}, {}, 0
local pause = tonumber(os.getenv("WRK_PAUSE_MS") or "0")

function init(args)
   for line in io.lines(os.getenv("WRK_BODIES")) do
      bodies[#bodies + 1] = wrk.format("POST", "/predict", { ["Content-Type"] = "application/json" }, line)
   end
   math.randomseed(1)
   place = math.random(#bodies)
   counts = ""
end

function request()
   place = place % #bodies + 1
   return bodies[place]
end

function delay()
   return pause == 0 and 0 or math.floor(pause * (0.5 + math.random()))
end

function response(status)
   statuses[status] = (statuses[status] or 0) + 1
   counts = ""
   for code, count in pairs(statuses) do
      counts = counts .. code .. ":" .. count .. " "
   end
end

local threads = {}

function setup(thread)
   threads[#threads + 1] = thread
end

function done(summary, latency)
   for _, thread in ipairs(threads) do
      io.write("statuses " .. thread:get("counts") .. "\n")
   end
   local errors = summary.errors
   io.write(string.format("result %d %d %f %f %f %d %d %d\n", summary.requests, summary.duration,
      latency:percentile(50), latency:percentile(95), latency:percentile(99),
      errors.connect, errors.read + errors.write, errors.timeout))
end
