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
local total, before = tonumber(ARGV[1]), available and available + taken
if before == total then
  return before
end
available = total - taken
if before then
  -- INCRBY leaves the end of the key as it is.
  redis.call('INCRBY', L, total - before)
else
  redis.call('SET', L, available)
end
keep_permits(0, not before)
if available > 0 then
  announce(ARGV[2], available)
end
if redis.pcall('ZRANGE', Q, 0, 0)[1] then
  pcall(function()
    crowded().wake(queue_at(clock()), available, 0)
  end)
end
return before
