-- Reads a semaphore without changing it.
--
-- KEYS[1]  L, KEYS[2]  P, KEYS[3]  Q: see permits.lua and queue.lua
--
-- Reply    {available or nil, taken, of these expired, how many processes wait}
local ms = math.floor((function()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end)())
local available = redis.call('GET', KEYS[1])
return {
  available, redis.call('ZCARD', KEYS[2]), redis.call('ZCOUNT', KEYS[2], '-inf', ms), redis.call('ZCARD', KEYS[3]),
}
