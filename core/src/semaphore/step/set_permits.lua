-- Sets the total of a semaphore, and wakes those whose turn it is by that.
--
-- KEYS     L, P, Q, S: see permits.lua and queue.lua
-- ARGV[1]  the total
-- ARGV[2]  Redisson's channel of the semaphore; gets the number that is available
--
-- Reply    the total before; nil: it was not there
--
-- What is taken stays taken: lowered below that, fewer than none are available until enough was given back.
local available, taken = count(), redis.call('ZCARD', P)
if available == false then
  return redis.error_reply(NO_NUMBER)
end
local before = available and available + taken
local made = not available
available = tonumber(ARGV[1]) - taken
if made then
  redis.call('SET', L, available)
  keep_permits(0, true)
elseif before ~= tonumber(ARGV[1]) then
  redis.call('INCRBY', L, tonumber(ARGV[1]) - before)
  keep_permits(0, false)
end
if before == tonumber(ARGV[1]) then
  return before
end
if available > 0 then
  redis.pcall('PUBLISH', ARGV[2], available)
end
if redis.pcall('ZRANGE', Q, 0, 0)[1] then
  pcall(function()
    crowded().wake(queue_at(clock()), available, 0)
  end)
end
return before
