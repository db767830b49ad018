-- Frees a lock that this owner holds, and wakes whoever waits.
--
-- KEYS[1]  the lock: HASH
-- ARGV[1]  owner
-- ARGV[2]  Redisson's channel of the lock; gets the message 0
--
-- Reply    {1, receivers}  freed; receivers -1: this user may not publish there, so waiters come by their timers
--          {0, 0}          not held by this owner, nothing done
--
-- Keeps I6 (never frees another grant) and I8 (the message a Redisson client expects). Nothing in it may be refused when
-- memory is short, and a denied PUBLISH must not turn a release that is done into an error.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return {0, 0}
end
redis.call('DEL', KEYS[1])
local receivers = redis.pcall('PUBLISH', ARGV[2], '0')
if type(receivers) == 'table' then
  receivers = -1
end
return {1, receivers}
