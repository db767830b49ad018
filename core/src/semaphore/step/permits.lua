-- The permits of a semaphore. Stands behind available.lua, in front of each script that has to do with them.
--
-- KEYS[1]  L  see available.lua; negative after the total was lowered below what is taken
-- KEYS[2]  P  ZSET: permit id, 16 bytes -> when it expires, server ms; expired at that ms already (RPermitExpirableSemaphore)
-- KEYS[3]  Q, KEYS[4]  S: see queue.lua and wants.lua
--
-- The ids of one acquire are its base, 12 characters, and four hexadecimal digits that count from 0.
-- The total is what is available and what is taken together. L and P end at the same ms, or neither ends.
local P = KEYS[2]
local NO_IDS = 'WRONGTYPE the key holds no ids of permits'
-- The keys outlive their last use by so much.
local IDLE_MS = 86400000
-- How many expired permits one script takes back, and how many ids one command carries.
local RECLAIMED = 500
-- What Redisson gives a permit without a lease as its expiry.
local NO_LEASE = 922337203685477

-- Calls `each` with the ids of an acquire of n permits, RECLAIMED of them at a time; the sum of what it returns.
local function sum_of_ids(base, n, each)
  if n == 1 then
    return each({base .. '0000'})
  end
  local sum = 0
  for from = 0, n - 1, RECLAIMED do
    local some = {}
    for at = from, math.min(n, from + RECLAIMED) - 1 do
      some[#some + 1] = base .. string.format('%04x', at)
    end
    sum = sum + each(some)
  end
  return sum
end

-- Has the ids expire at `score`: with `how` 'XX' those that are there, with 'NX' those that are not. How many were added.
local function expire_at(base, n, score, how)
  if n == 1 then
    return redis.call('ZADD', P, how, score, base .. '0000')
  end
  return sum_of_ids(base, n, function(some)
    local pairs = {}
    for at, id in ipairs(some) do
      pairs[2 * at - 1], pairs[2 * at] = score, id
    end
    return redis.call('ZADD', P, how, unpack(pairs))
  end)
end

-- The keys live on for a lease and half of IDLE_MS, at least. Those that somebody else has made to stay do.
local function keep_permits(lease, made)
  local left = made and 0 or redis.call('PTTL', L)
  if left == -1 then
    redis.call('PERSIST', P)
    return
  end
  if left < lease + IDLE_MS / 2 then
    left = lease + IDLE_MS
    redis.call('PEXPIRE', L, left)
  end
  redis.call('PEXPIRE', P, left)
end

-- What has to be known where too few permits are available, or somebody waits. Made only then: each function takes 40 ns.
local function crowded()
  local wants = wanting()

  -- Takes back what has expired by now, at most RECLAIMED; what is available then.
  local function reclaim(ms, available, channel)
    local expired = redis.call('ZRANGEBYSCORE', P, '-inf', ms, 'LIMIT', 0, RECLAIMED)
    if #expired == 0 then
      return available
    end
    available = redis.call('INCRBY', L, #expired)
    redis.call('ZREM', P, unpack(expired))
    if available > 0 then
      announce(channel, available)
    end
    return available
  end

  -- Of wants.lua, with what is available and taken together as the total.
  local function wake(queue, available, from, caller)
    wants.wake(queue, available, from, caller, available + redis.call('ZCARD', P))
  end

  -- In how many ms the first of the permits expires that are taken: 0 when it is to be taken back, -1 when none will expire.
  local function first_expiry(ms)
    local first = tonumber(redis.call('ZRANGE', P, 0, 0, 'WITHSCORES')[2] or NO_LEASE)
    return first < NO_LEASE and math.max(first - ms, 0) or -1
  end

  return {want = wants.want, suffices = wants.suffices, wake = wake, reclaim = reclaim, first_expiry = first_expiry}
end
