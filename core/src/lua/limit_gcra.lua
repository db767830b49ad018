-- Judges one request to a rate limiter by GCRA and, if it is granted, charges it.
--
-- KEYS[1]  the theoretical arrival time (TAT), when the bucket will be full again: STRING, us since 2025-01-01 on the
--          server's clock, as "<us>" or "<us>+<part>/<unit>"
-- ARGV[1]  unit: in how many parts a microsecond is counted (the rate's tokens)
-- ARGV[2]  cost: whole us, and ARGV[3] parts; both 0 only look
-- ARGV[4]  horizon, how far ahead of now the TAT may lie: whole us, and ARGV[5] parts
--
-- Reply    {1 granted or 0 refused, now in us of Unix time, TAT after it: whole us, parts}
--
-- Not idempotent: a repeat is charged again. The key lives no longer than the TAT lies ahead: no key is a full bucket.
-- Numbers stay below 2^53, where a Lua number is exact.
local time = redis.call('TIME')
local unix = time[1] * 1000000 + time[2]
local now = math.max(0, unix - 1735689600000000)
local unit = tonumber(ARGV[1])

local us, part = 0, 0
local text = redis.call('GET', KEYS[1])
if text then
  local whole, parts, in_unit = string.match(text, '^(%d+)%+(%d+)/(%d+)$')
  us = tonumber(whole or string.match(text, '^%d+$'))
  if not us then
    return redis.error_reply('WRONGTYPE the key holds no theoretical arrival time')
  end
  part = tonumber(parts or 0)
  -- A part in another unit is rounded up, so that a change of the rate never grants more.
  if part > 0 and (tonumber(in_unit) ~= unit or part >= unit) then
    us, part = us + 1, 0
  end
end
if us < now then
  us, part = now, 0
end

-- Beyond the horizon lies only what a step of the clock, or another rate, has left there: it is pulled back.
local top_us, top_part = now + ARGV[4], tonumber(ARGV[5])
local beyond = us > top_us or (us == top_us and part > top_part)
if beyond then
  us, part = top_us, top_part
end

local next_us, next_part = us + ARGV[2], part + ARGV[3]
if next_part >= unit then
  next_us, next_part = next_us + 1, next_part - unit
end
local granted = next_us < top_us or (next_us == top_us and next_part <= top_part)
local looks = ARGV[2] == '0' and ARGV[3] == '0'
if granted then
  us, part = next_us, next_part
end
if granted and not looks or beyond and not granted then
  local ahead = us - now + (part > 0 and 1 or 0)
  local value = string.format('%.0f', us)
  if part > 0 then
    value = string.format('%s+%.0f/%.0f', value, part, unit)
  end
  redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', math.ceil(ahead / 1000) + 1))
end
return {granted and 1 or 0, unix, us, part}
