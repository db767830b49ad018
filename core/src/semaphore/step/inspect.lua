-- Reads a semaphore without changing it.
--
-- KEYS   L, P, Q, S: see permits.lua and queue.lua
--
-- Reply  {available or nil, taken, of these expired, how many processes wait}
local available = count()
if available == false then
  return redis.error_reply(NO_NUMBER)
end
local ms = math.floor(clock() / 1000)
return {available or false, redis.call('ZCARD', P), redis.call('ZCOUNT', P, '-inf', ms), redis.call('ZCARD', Q)}
