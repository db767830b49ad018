-- Reads a lock.
--
-- KEYS[1]  the lock: HASH
-- KEYS[2]  its last fencing token: STRING
-- KEYS[3]  its queue: ZSET
--
-- Reply    {holder or nil, ttl ms (-1: without expiry, -2: free), token as text or nil, how many processes wait}
return {
  redis.call('HRANDFIELD', KEYS[1]),
  redis.call('PTTL', KEYS[1]),
  redis.call('GET', KEYS[2]),
  redis.call('ZCARD', KEYS[3]),
}
