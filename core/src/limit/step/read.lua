-- The theoretical arrival time (TAT) of a rate limiter, when its bucket will be full again. The scripts that charge it and give back
-- are put together of parts without functions, to make which would cost a tenth of the script: this one stands in front, then
-- come the script's own part and settle.lua, store.lua last.
--
-- KEYS[1]  the TAT: STRING, us since 2025-01-01 on the server's clock, as "<us>" or "<us>+<part>/<unit>"; beyond the horizon,
--          where reservations are, as "<us>+<part><at>/<unit>0000000000000000", `at` when it was written, 16 digits
-- ARGV[1]  unit: in how many parts a microsecond is counted (the rate's tokens)
-- ARGV[2]  cost: whole us, and ARGV[3] parts
-- ARGV[4]  horizon, how far ahead of now the TAT may lie for what may be used now: whole us, and ARGV[5] parts
--
-- The key lives no longer than the TAT lies ahead: no key is a full bucket. Numbers stay below 2^53, where a Lua number is exact.
local time = redis.call('TIME')
local unix = time[1] * 1000000 + time[2]
local now = math.max(0, unix - 1735689600000000)
local unit = tonumber(ARGV[1])
local top_us, top_part = now + ARGV[4], tonumber(ARGV[5])

-- The TAT as it is stored, and `at` if it has one.
local us, part, at = 0, 0, nil
local text = redis.call('GET', KEYS[1])
if text then
  local whole, parts, in_unit = string.match(text, '^(%d+)%+(%d+)/(%d+)$')
  us = tonumber(whole or string.match(text, '^%d+$'))
  if not us then
    return redis.error_reply('WRONGTYPE the key holds no theoretical arrival time')
  end
  if whole and #parts > 16 and #in_unit > 16 and string.sub(in_unit, -16) == '0000000000000000' then
    at = tonumber(string.sub(parts, -16))
    parts, in_unit = string.sub(parts, 1, -17), string.sub(in_unit, 1, -17)
  end
  part = tonumber(parts or 0)
  -- A part in another unit is rounded up, so that a change of the rate never grants more.
  if part > 0 and (tonumber(in_unit) ~= unit or part >= unit) then
    us, part = us + 1, 0
  end
end
