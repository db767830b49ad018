-- Gives the permits of one acquire back, and wakes those whose turn it is.
--
-- KEYS     L, P, Q, S: see permits.lua and queue.lua
-- ARGV[1]  base of the ids
-- ARGV[2]  how many permits
-- ARGV[3]  Redisson's channel of the semaphore; gets the number that is available
--
-- Reply    {1, told}  given back; told 0: this user may not publish, so waiters come by their timers
--          {0}        not held, nothing done
--
-- Gives back what is there, so that none is lost where a part of them has expired. Nothing that comes after the giving back
-- may make an error of a release that is done.
local base, n = ARGV[1], tonumber(ARGV[2])
local available = count()
if available == false then
  return redis.error_reply(NO_NUMBER)
end
-- Whether this user may take ids out, and P has some: where not, nothing is done. And on a server that is full a script may go on
-- after a first write that needs no memory.
local may = redis.pcall('ZREM', P, '')
if type(may) == 'table' then
  return string.find(may.err, 'WRONGTYPE', 1, true) and redis.error_reply(NO_IDS) or may
end
-- A semaphore that was deleted is made anew by the next acquire, without these. The number first: where it cannot be changed,
-- nothing is done.
if available then
  available = redis.call('INCRBY', L, n)
end
local removed = sum_of_ids(base, n, function(some)
  return redis.call('ZREM', P, unpack(some))
end)
if available and removed < n then
  available = redis.call('DECRBY', L, n - removed)
end
if removed == 0 then
  return {0}
end
local told = 1
if available and available > 0 then
  if type(announce(ARGV[3], available)) == 'table' then
    told = 0
  end
  if redis.pcall('ZRANGE', Q, 0, 0)[1] then
    pcall(function()
      crowded().wake(queue_at(clock()), available, 0)
    end)
  end
end
return {1, told}
