-- Frees a lock of an attempt that too few servers granted. Tells nobody: who was kept out by it asks again soon.
--
-- KEYS[1]  L, the lock: HASH
-- ARGV[1]  owner, <client>:<n>
--
-- Reply    1 freed, 0 not held by this owner
--
-- Keeps I6.
return redis.call('HDEL', KEYS[1], ARGV[1])
