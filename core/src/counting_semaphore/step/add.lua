-- Adds permits, or takes some away without asking who waits; wakes those whose turn it is by that. Makes a semaphore that is not
-- there, as Redisson does.
--
-- KEYS     L, D, T, Q, S: see counting.lua
-- ARGV[1]  id of the request
-- ARGV[2]  not after, server time in us: later than this the request is void
-- ARGV[3]  how many permits; negative to take away
-- ARGV[4]  Redisson's channel of the semaphore; gets the number that is available
-- ARGV[5]  and all behind it: ids of acquires and requests that nobody repeats or undoes any more, to be forgotten
--
-- Reply    {now us, 1, told}       done, by this attempt or by one before; told 0: this user may not publish
--          {now us, 0, available}  the sum would be out of range, nothing done
--          {now us}                too late, nothing done
--
-- A server that is full carries this out: the first write needs no memory.
local now = clock()
if now > tonumber(ARGV[2]) then
  return {now}
end
local available, added = counted(), tonumber(ARGV[3])
if available == 'foreign' then
  return redis.error_reply(NO_COUNT)
end
available = available or 0
if math.abs(available + added) > MOST and not known(ARGV[1]) then
  return {now, 0, available}
end
available = all_or_nothing(ARGV[1], function()
  return once(ARGV[1], now) and redis.call('INCRBY', L, ARGV[3])
end)
if ARGV[5] then
  redis.call('ZREM', D, unpack(ARGV, 5))
end
return {now, 1, available and added > 0 and announce_and_wake(ARGV[4], available) or 1}
