-- Gives back what an acquire was granted whose caller wants it no more, once, and wakes those whose turn it is by that.
--
-- KEYS     L, D, T, Q, S: see counting.lua
-- ARGV[1]  id of the acquire
-- ARGV[2]  how many permits
-- ARGV[3]  Redisson's channel of the semaphore; gets the number that is available
--
-- Reply    {1, told}  given back; told 0: this user may not publish, so waiters come by their timers
--          {0}        not granted, given back before, or not remembered any more: nothing done
--
-- Where the semaphore was deleted there is nothing to give back to. Gives back no more than leaves MOST permits.
local available = counted()
if available == 'foreign' then
  return redis.error_reply(NO_COUNT)
end
local till = known(ARGV[1])
-- A first write that needs no memory: on a server that is full a script may go on after it.
if not forget(ARGV[1]) then
  return {0}
end
local back = math.min(tonumber(ARGV[2]), MOST - (available or MOST))
if back <= 0 then
  return {1, 1}
end
-- By the command that took them, which this user may call.
local now_available = redis.pcall('DECRBY', L, -back)
if type(now_available) == 'table' then
  redis.call('ZADD', D, till, ARGV[1])
  return now_available
end
return {1, announce_and_wake(ARGV[3], now_available)}
