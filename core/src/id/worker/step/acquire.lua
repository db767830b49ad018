-- Leases the lowest free number of a pool, or says when one may be free.
--
-- KEYS     H, Z, F: see pool.lua
-- ARGV[1]  owner
-- ARGV[2]  lease in ms
-- ARGV[3]  not_after, us of Unix time on the server: later, this does nothing
-- ARGV[4]  how many numbers the pool has: those from 0 that the caller's ids have room for
--
-- Reply    {0, now in us, number, until}  leased; its holder makes ids from `until` less the lease to `until`, ms of Unix time
--          {1, now, taken, first}         full: so many are leased, and the first lease ends in so many ms (-1: none)
--          {2, now}                       too late
--
-- A number whose last time is days ahead was used while the server's clock was wrong: it is passed over while there is another.
--
-- Keeps: one owner for each number; the time of its holder begins after the last that any holder before it may use, whatever the
-- clock shows. Idempotent: an owner that has a number is told the same one, and the same time.
local owner, lease, size = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[4])
if us > tonumber(ARGV[3]) then
  return {2, us}
end

local own, next = number(redis.call('HGET', H, owner)), number(redis.call('HGET', H, 'next'))
if own == false or next == false then
  return redis.error_reply(NO_POOL)
end
local expiry = tonumber(redis.call('ZSCORE', Z, owner) or nil)
if own and expiry then
  local used = number(redis.call('HGET', H, text(own)))
  if not used then
    return redis.error_reply(NO_POOL)
  end
  if expiry < ms + lease then
    redis.call('ZADD', Z, ms + lease, owner)
  end
  keep(lease)
  return {0, us, own, used}
end

-- What has expired is free, too.
next = next or 0
local expired = redis.call('ZRANGEBYSCORE', Z, '-inf', ms, 'LIMIT', 0, RECLAIMED)
local freed = {}
for _, other in ipairs(expired) do
  local of = number(redis.call('HGET', H, other))
  if of then
    freed[#freed + 1] = of
  end
end
local lowest, ahead = next, nil
-- In their order, until one is found that is not ahead.
local function look(of)
  local last = of and number(redis.call('HGET', H, text(of)) or '0')
  if not last then
    return nil
  elseif last > ms + AHEAD_MS then
    ahead = math.min(ahead or of, of)
    return true
  end
  lowest = math.min(lowest, of)
  return false
end
for _, free in ipairs(redis.call('ZRANGE', F, 0, PASSED_OVER - 1)) do
  local goes_on = look(number(free))
  if goes_on == nil then
    return redis.error_reply(NO_POOL)
  elseif not goes_on then
    break
  end
end
for _, of in ipairs(freed) do
  if look(of) == nil then
    return redis.error_reply(NO_POOL)
  end
end
if lowest >= size and ahead then
  lowest = ahead
end

if lowest >= size then
  local left = redis.call('ZRANGEBYSCORE', Z, '(' .. ms, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  return {1, us, redis.call('ZCARD', Z) - #expired, left and left - ms or -1}
end
local used = number(redis.call('HGET', H, text(lowest)) or '0')
if not used then
  return redis.error_reply(NO_POOL)
end

-- On a server that is full, or for a user who lacks a right, nothing is done: each command of the writes below runs once without
-- effect, the one that needs memory first. A number that was half taken would be lost.
redis.call('ZADD', Z, 'XX', 0, '')
redis.call('ZREM', Z, '')
redis.call('HDEL', H, '')
used = math.max(ms, used + 1) + lease
redis.call('HSET', H, owner, text(lowest), text(lowest), text(used), 'next', text(math.max(next, lowest + 1)))
for _, other in ipairs(expired) do
  redis.call('ZREM', Z, other)
  redis.call('HDEL', H, other)
end
for _, of in ipairs(freed) do
  redis.call('ZADD', F, of, text(of))
end
redis.call('ZREM', F, text(lowest))
redis.call('ZADD', Z, ms + lease, owner)
keep(lease)
return {0, us, lowest, used}
