-- Hands a held lock from one owner to another, in place: the attaching side of detach/attach.
--
-- KEYS[1]  the lock: HASH
-- ARGV[1]  present owner
-- ARGV[2]  new owner
-- ARGV[3]  lease in ms, counted from now
-- ARGV[4]  not after, server time in us: later than this the request is void
--
-- Reply    {0, now us}  handed over (or it was already: a retry)
--          {1, now us}  the present owner does not hold it
--          {2, now us}  too late, nothing done
--
-- Keeps I1 (the new field is written first, the old one removed in the same step), I2, I6.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {2, now}
end
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
  if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
    return {1, now}
  end
  redis.call('HSET', KEYS[1], ARGV[2], '1')
  redis.call('HDEL', KEYS[1], ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {0, now}
