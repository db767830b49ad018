-- Judges one request to a rate limiter by GCRA and, if it is granted, charges it: for now, or for when the tokens are there. Between
-- settle.lua and store.lua.
--
-- KEYS[1]  the TAT, and ARGV[1] to ARGV[5] as in read.lua; a cost of 0 only looks
-- ARGV[6]  us that the caller would wait for the tokens; 0 does not
--
-- Reply    {1 granted or 0 refused, now in us of Unix time, TAT after it: whole us, parts}. What was granted may be used when
--          the TAT of the reply is within the horizon.
--
-- Keeps: no more than burst + rate x t is granted for any interval t of those times. Not idempotent: a repeat is charged
-- again.
local next_us, next_part = us + ARGV[2], part + ARGV[3]
if next_part >= unit then
  next_us, next_part = next_us + 1, next_part - unit
end
local latest = top_us + ARGV[6]
local granted = next_us < latest or (next_us == latest and next_part <= top_part)
local looks = ARGV[2] == '0' and ARGV[3] == '0'
if granted then
  us, part = next_us, next_part
end
local write = granted and not looks or moved and not granted
local reply = {granted and 1 or 0, unix, us, part}
