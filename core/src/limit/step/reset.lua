-- Forgets all that a rate limiter has counted, and a block.
--
-- KEYS     those of its rates: STRING or LIST
--
-- Reply    1 there was something, 0 there was nothing
--
-- A key of another type is somebody else's: WRONGTYPE, and nothing is deleted.
--
-- Not idempotent: a repeat could give back what others have spent since.
for i = 1, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= 'string' and kind ~= 'list' then
    return redis.error_reply('WRONGTYPE the key holds no rate limit')
  end
end
return math.min(1, redis.call('DEL', unpack(KEYS)))
