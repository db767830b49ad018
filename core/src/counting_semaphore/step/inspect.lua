-- Reads a counting semaphore without changing it.
--
-- KEYS   L, D, T, Q, S: see counting.lua
--
-- Reply  {available or nil, how many processes wait}
local available = counted()
if available == 'foreign' then
  return redis.error_reply(NO_COUNT)
end
return {available or false, redis.call('ZCARD', Q)}
