-- Reads a lock.
--
-- KEYS[1]  the lock: HASH
-- KEYS[2]  its last fencing token: STRING
-- KEYS[3]  its queue: ZSET
--
-- Reply    {holder or nil, ttl ms (-1: without expiry, -2: free), token as text or nil, how many processes wait}; of a holder its
--          first 256 bytes, of a token its first 32: what others wrote there may be of any size
local holder, token = redis.call('HRANDFIELD', KEYS[1]), redis.call('GET', KEYS[2])
return {
  holder and string.sub(holder, 1, 256),
  redis.call('PTTL', KEYS[1]),
  token and string.sub(token, 1, 32),
  redis.call('ZCARD', KEYS[3]),
}
