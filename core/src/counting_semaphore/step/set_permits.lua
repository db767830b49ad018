-- Makes a semaphore that is not there, with so many permits, and wakes those whose turn it is by that.
--
-- KEYS     L, D, T, Q, S: see counting.lua
-- ARGV[1]  id of the request
-- ARGV[2]  not after, server time in us: later than this the request is void
-- ARGV[3]  how many permits
-- ARGV[4]  Redisson's channel of the semaphore; gets the number that is available
--
-- Reply    {now us, 1, told}  made, by this attempt or by one before; told 0: this user may not publish
--          {now us, 0}        it is there, nothing done
--          {now us}           too late, nothing done
local now = clock()
if now > tonumber(ARGV[2]) then
  return {now}
end
local available = counted()
if available == 'foreign' then
  return redis.error_reply(NO_COUNT)
end
if known(ARGV[1]) then
  return {now, 1, 1}
end
if available then
  return {now, 0}
end
-- The number comes first: a server that is full refuses it.
redis.call('SET', L, ARGV[3])
all_or_nothing(ARGV[1], function()
  once(ARGV[1], now)
end, function()
  redis.pcall('DEL', L)
end)
return {now, 1, announce_and_wake(ARGV[4], tonumber(ARGV[3]))}
