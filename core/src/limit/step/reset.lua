-- Fills the bucket of a rate limiter.
--
-- KEYS[1]  the theoretical arrival time: STRING
--
-- Reply    1 it was not full, 0 it was
--
-- Not idempotent: a repeat could give back what others have spent since.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'string' and kind ~= 'none' then
  return redis.error_reply('WRONGTYPE the key is no rate limiter')
end
return redis.call('DEL', KEYS[1])
