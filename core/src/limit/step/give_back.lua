-- Gives back tokens of a rate limiter that were reserved and are not wanted any more, if nothing was charged since. Between
-- read.lua and settle.lua.
--
-- KEYS[1]  the TAT, and ARGV[1] to ARGV[5] as in read.lua
-- ARGV[6]  the TAT as the reservation left it: whole us, and ARGV[7] parts
--
-- Reply    1 nothing is charged any more, 0 it has to stay charged
--
-- Keeps the same as gcra.lua: what was charged since keeps its time, before which the bucket could be full without this
-- one. Not idempotent: a repeat could give back what others paid.
local cost_us, cost_part = tonumber(ARGV[2]), tonumber(ARGV[3])
local left_us, left_part = tonumber(ARGV[6]), tonumber(ARGV[7])
if not text or us < left_us or (us == left_us and part < left_part) then
  -- A reset, or a step of the clock.
  return 1
end
local soon_us = now + cost_us
if us > left_us or part > left_part or left_us < soon_us or (left_us == soon_us and left_part < cost_part) then
  return 0
end
us, part = us - cost_us, part - cost_part
if part < 0 then
  us, part = us - 1, part + unit
end
local write, reply = true, 1
