-- Forgets all that a rate limiter has counted, and a block.
--
-- KEYS     those of its rates: STRING or LIST
--
-- Reply    1 there was something, 0 there was nothing
--
-- Not idempotent: a repeat could give back what others have spent since.
return math.min(1, redis.call('DEL', unpack(KEYS)))
