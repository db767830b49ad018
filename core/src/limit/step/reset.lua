-- Forgets all that a rate limiter has counted, and a block.
--
-- KEYS     the key of the block, and those of its rates: STRING, LIST or HASH
--
-- Reply    1 there was something, 0 there was nothing
--
-- Not idempotent: a repeat could give back what others have spent since.
return math.min(1, redis.call('DEL', unpack(KEYS)))
