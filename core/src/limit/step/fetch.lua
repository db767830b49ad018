-- Charges as many tokens of a rate limiter as there are now, up to what is wanted. Between settle.lua and store.lua.
--
-- KEYS[1]  the TAT, and ARGV[1] to ARGV[5] as in read.lua: the cost is the least that is of use, and no 0
-- ARGV[6]  what is wanted: whole us, and ARGV[7] parts; no less than the cost
-- ARGV[8]  us ahead of now up to where the stretch is to reach at least
-- ARGV[9]  the longest that it may be: whole us, and ARGV[10] parts; no less than the cost
--
-- Reply    {1 granted or 0 refused, now in us of Unix time, TAT before it: whole us, parts, TAT after it: whole us, parts}
--
-- Keeps the same as gcra.lua if whoever has the stretch uses each part of it no later than the part's own time. Not
-- idempotent: a repeat is charged again.
local least_us, least_part = us + ARGV[2], part + ARGV[3]
if least_part >= unit then
  least_us, least_part = least_us + 1, least_part - unit
end
local granted = least_us < top_us or (least_us == top_us and least_part <= top_part)
local end_us, end_part = us, part
if granted then
  end_us, end_part = us + ARGV[6], part + ARGV[7]
  if end_part >= unit then
    end_us, end_part = end_us + 1, end_part - unit
  end
  local lasting = now + ARGV[8]
  if end_us < lasting then
    end_us, end_part = lasting, 0
  end
  local most_us, most_part = us + ARGV[9], part + ARGV[10]
  if most_part >= unit then
    most_us, most_part = most_us + 1, most_part - unit
  end
  if end_us > most_us or (end_us == most_us and end_part > most_part) then
    end_us, end_part = most_us, most_part
  end
  if end_us > top_us or (end_us == top_us and end_part > top_part) then
    end_us, end_part = top_us, top_part
  end
end
local reply = {granted and 1 or 0, unix, us, part, end_us, end_part}
local write = granted or moved
us, part = end_us, end_part
