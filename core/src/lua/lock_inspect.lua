-- Reads a lock.
--
-- KEYS[1]  the lock: HASH
-- KEYS[2]  its last fencing token: STRING
--
-- Reply    {holder or nil, ttl ms (-1: without expiry, -2: free), token as text or nil}
return {
  redis.call('HKEYS', KEYS[1])[1] or false,
  redis.call('PTTL', KEYS[1]),
  redis.call('GET', KEYS[2]),
}
