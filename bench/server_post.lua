-- server_post.lua -- wrk: single reports, each with an id of its own.
-- REPORT names a file with one honest report of an open study (round 0).
local file = assert(io.open(os.getenv("REPORT"), "rb"))
local report = file:read("*a")
file:close()
local before, after = report:sub(1, 23), report:sub(40)
local counter = 0

function setup(thread)
  thread:set("number", math.random(1, 2 ^ 30))
end

function init(args)
  math.randomseed(number + os.time())
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/cbor"
  prefix = string.char(math.random(0, 255), math.random(0, 255), math.random(0, 255), math.random(0, 255),
                       math.random(0, 255), math.random(0, 255), math.random(0, 255), math.random(0, 255),
                       math.random(0, 255), math.random(0, 255), math.random(0, 255), math.random(0, 255))
end

function request()
  counter = counter + 1
  local c = counter
  local id = prefix .. string.char(c % 256, math.floor(c / 256) % 256, math.floor(c / 65536) % 256,
                                   math.floor(c / 16777216) % 256)
  return wrk.format(nil, nil, nil, before .. id .. after)
end
