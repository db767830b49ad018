-- Charges as many tokens of a limiter with one rate, by GCRA, as there are now, up to what is wanted.
--
-- ARGV[1]  the least that is of use, no 0
-- ARGV[9]  what is wanted: whole us, and ARGV[10] parts; no less than the least
-- ARGV[11] us ahead of now up to where the stretch is to reach at least
-- ARGV[12] the longest that it may be: whole us, and ARGV[13] parts; no less than the least
--
-- Reply    {1 granted or 0 refused, now in us of Unix time, TAT before it: whole us, parts, TAT after it: whole us, parts}
--
-- Keeps the same as a decision if whoever has the stretch uses each part of it no later than the part's own time. Not
-- idempotent: a repeat is charged again.
local i, key, kind = 1, KEYS[1], ARGV[3]
local first = tonumber(ARGV[4])
local from_us, from_part = u, v
local granted = at <= now
if granted then
  local end_us, end_part = from_us + ARGV[9], from_part + ARGV[10]
  if end_part >= first then
    end_us, end_part = end_us + 1, end_part - first
  end
  local lasting = now + ARGV[11]
  if end_us < lasting then
    end_us, end_part = lasting, 0
  end
  local most_us, most_part = from_us + ARGV[12], from_part + ARGV[13]
  if most_part >= first then
    most_us, most_part = most_us + 1, most_part - first
  end
  if end_us > most_us or (end_us == most_us and end_part > most_part) then
    end_us, end_part = most_us, most_part
  end
  local top_us, top_part = now + tonumber(ARGV[7]), tonumber(ARGV[8])
  if end_us > top_us or (end_us == top_us and end_part > top_part) then
    end_us, end_part = top_us, top_part
  end
  u, v = end_us, end_part
end
if granted or moved then
