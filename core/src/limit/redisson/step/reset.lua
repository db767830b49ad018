-- Makes all permits of a rate limiter of Redisson available: of all clients together, and of this one. What it lets through stays.
--
-- KEYS     as in acquire.lua
--
-- Reply    1 something was logged, 0 nothing was
--
-- Not idempotent: a repeat could give back what others have acquired since.
local function number(text)
  return text and #text <= 15 and string.match(text, '^%d+$')
end

local fields = redis.call('HMGET', KEYS[1], 'rate', 'interval', 'type', 'keepAliveTime')
if redis.call('EXISTS', KEYS[1]) == 1 then
  local kind = fields[3]
  if not number(fields[1]) or not number(fields[2]) or not number(fields[4] or '0') or kind ~= '0' and kind ~= '1' then
    return redis.error_reply('WRONGTYPE the key is no rate limiter of Redisson')
  end
end
-- The types of all, before any of them is touched.
local logged = redis.call('ZCARD', KEYS[3]) + redis.call('ZCARD', KEYS[5])
redis.call('GET', KEYS[2])
redis.call('GET', KEYS[4])
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return math.min(logged, 1)
