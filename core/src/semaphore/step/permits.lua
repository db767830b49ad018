-- The permits of a semaphore. Stands behind queue.lua, in front of each script that has to do with them.
--
-- KEYS[1]  L  STRING: how many permits are available, decimal; negative after the total was lowered below what is taken
-- KEYS[2]  P  ZSET: permit id, 16 bytes -> when it expires, server ms; expired at that ms already (RPermitExpirableSemaphore)
-- KEYS[3]  Q, KEYS[4]  S: see queue.lua; S also has `want:<client>` -> how many permits the first in line of that client wants
--
-- The ids of one acquire are its base, 12 characters, and four hexadecimal digits that count from 0.
-- The total is what is available and what is taken together. L and P end at the same ms, or neither ends.
local P = KEYS[2]
KIND, WANTS = 'semaphore:', true
local NO_NUMBER = 'WRONGTYPE the key holds no number of permits'
local NO_IDS = 'WRONGTYPE the key holds no ids of permits'
-- The keys outlive their last use by so much.
local IDLE_MS = 86400000
-- How many expired permits one script takes back, and how many ids one command carries.
local RECLAIMED = 500

-- How many permits are available. Nil when the key is not there, false when it holds something else.
local function count()
  local text = redis.call('GET', L)
  if not text then
    return nil
  end
  -- As the server writes a number: of others it takes none.
  local canonical = #text <= 16 and (text == '0' or string.match(text, '^%-?[1-9]%d*$'))
  return canonical and tonumber(text) or false
end

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

-- The keys live on for a lease and IDLE_MS at least half. Those that somebody else has made to stay do.
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
  local crowd = {}

  -- Takes back what has expired by now, at most RECLAIMED; what is available then.
  function crowd.reclaim(ms, available, channel)
    local expired = redis.call('ZRANGEBYSCORE', P, '-inf', ms, 'LIMIT', 0, RECLAIMED)
    if #expired == 0 then
      return available
    end
    available = redis.call('INCRBY', L, #expired)
    redis.call('ZREM', P, unpack(expired))
    if available > 0 then
      redis.pcall('PUBLISH', channel, available)
    end
    return available
  end

  -- What a client in the queue wants; more than there is when that is not known.
  local function want(client)
    return tonumber(redis.call('HGET', S, 'want:' .. client) or nil) or math.huge
  end

  -- Whether n permits are there besides those that the first `entries` of the queue want.
  function crowd.suffices(available, n, entries)
    -- Each of them wants one at least.
    if n + entries > available or entries > REACH then
      return false
    end
    if entries > 0 then
      for _, client in ipairs(redis.call('ZRANGE', Q, 0, entries - 1)) do
        n = n + want(client)
      end
    end
    return n <= available
  end

  -- Tells all entries from rank `from` on to ask whose wants fit into what is available together with those in front of them:
  -- room was made for them. Ends at the caller, whose reply says more. An entry that wants more than there is in all is told
  -- too, and keeps nobody out. One that does not hear is marked, and leaves its permits to those behind it, of which the first
  -- that hears drops it.
  function crowd.wake(queue, available, from, caller)
    local total, marked = available + redis.call('ZCARD', P), false
    for at, client in ipairs(redis.call('ZRANGE', Q, 0, REACH - 1)) do
      local wanted = want(client)
      local impossible = wanted > total and wanted < math.huge
      if client == caller or not impossible and wanted > available then
        break
      end
      if at > from then
        if tell(client, 'free') == 0 then
          queue.front().mark(client)
          wanted, marked = 0, true
        end
      end
      available = impossible and available or available - wanted
    end
    if marked then
      queue.keep()
    end
  end

  crowd.want = want
  return crowd
end
