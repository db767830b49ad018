-- Gives back the end of a stretch of a rate limiter's time that fetch.lua charged and that was not used, if nothing was charged
-- behind it. Between read.lua and settle.lua.
--
-- KEYS[1]  the TAT, and ARGV[1] to ARGV[5] as in read.lua: the cost is what is given back
-- ARGV[6]  the TAT as fetch.lua left it: whole us, and ARGV[7] parts
--
-- Reply    1 nothing is charged any more, 0 it has to stay charged
--
-- Keeps the same as gcra.lua: what was charged behind it keeps its place. Not idempotent: a repeat could give back what
-- others paid.
local left_us, left_part = tonumber(ARGV[6]), tonumber(ARGV[7])
if not text or us < left_us or (us == left_us and part < left_part) then
  -- A reset, or a step of the clock.
  return 1
end
if us > left_us or part > left_part then
  return 0
end
us, part = us - ARGV[2], part - ARGV[3]
if part < 0 then
  us, part = us - 1, part + unit
end
if us < 0 then
  us, part = 0, 0
end
local write, reply = true, 1
