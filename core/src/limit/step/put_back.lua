-- Gives back the end of a stretch of a rate limiter's time that fetch.lua charged and that was not used, if nothing was charged
-- behind it.
--
-- ARGV[5]  what is given back: whole us, and ARGV[6] parts
-- ARGV[9]  the TAT as fetch.lua left it: whole us, and ARGV[10] parts
--
-- Reply    1 nothing is charged any more, 0 it has to stay charged, or all of it has passed
--
-- Keeps the same as a decision: what was charged behind it keeps its place. Not idempotent: a repeat could give back what
-- others paid.
local left_us, left_part = tonumber(ARGV[9]), tonumber(ARGV[10])
if u ~= left_us or v ~= left_part then
  return (u < left_us or (u == left_us and v < left_part)) and 1 or 0
end
local i, key, kind = 1, KEYS[1], ARGV[3]
local first, second = tonumber(ARGV[4]), tonumber(ARGV[5])
do
