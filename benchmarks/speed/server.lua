-- Posts the bodies in a file one after the other and counts statuses. If it is told to, it pauses between requests, or
-- sends so many per second whenever they are answered, as long as a connection is free.
local ffi = require("ffi")
ffi.cdef [[
typedef struct { long seconds; long microseconds; } moment;
int gettimeofday(moment *, void *);
]]
local bodies, statuses, place = {}, {}, 0
local pause = tonumber(os.getenv("WRK_PAUSE_MS") or "0")
local rate = tonumber(os.getenv("WRK_RATE") or "0")
local moment, due = ffi.new("moment"), nil
local MOST_BEHIND = 1000 -- milliseconds that are made up for

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

local function milliseconds()
   ffi.C.gettimeofday(moment, nil)
   return tonumber(moment.seconds) * 1000 + tonumber(moment.microseconds) / 1000
end

function delay()
   if rate > 0 then
      local now = milliseconds()
      due = math.max((due or now) + 1000 / rate, now - MOST_BEHIND)
      return math.max(0, math.floor(due - now))
   end
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
