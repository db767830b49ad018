-- Frees a lock whoever holds it, and wakes whoever waits.
--
-- KEYS[1]  the lock: HASH
-- ARGV[1]  Redisson's channel of the lock; gets the message 0
--
-- Reply    1 it was held, 0 it was not
--
-- Not idempotent: a retry could take away the next holder's grant.
if redis.call('HLEN', KEYS[1]) == 0 then
  return 0
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', ARGV[1], '0')
return 1
