-- Counts the jobs of a queue.
--
-- KEYS   M, D, R, F, O, X, N, Q, S: see jobs.lua
--
-- Reply  {due, not due yet, delivered, dead, how many processes wait}; of those that were delivered some may be over
local due = ready(math.floor(clock() / 1000))
return {due, redis.call('ZCARD', R) - due, redis.call('ZCARD', F), redis.call('ZCARD', X), redis.call('ZCARD', Q)}
