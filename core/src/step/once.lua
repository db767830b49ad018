-- Requests that are carried out once, however often they arrive: for steps that leave nothing else behind by which a repeat could
-- be told, such as a hold. Stands in front of each script that has such a step.
--
-- KEYS[2]  D  ZSET: id of a request that was carried out -> until when it is remembered, server us: the number that its id
--             ends in, `<client>:<n>@<us>`; for an id that names no time a minute from then on, or until the request is void
--             if that is later
--
-- After that time the request is void, by the same clock: a repeat finds the id, or is too late. That holds unless the clock
-- steps back after the request is void, and a copy of it is still under way.
local D = KEYS[2]
local LONGER_MS, REMEMBERED_US = 60000, 60000000

-- Remembers a request at `now`; false when it was carried out before. `void_after`: of a request whose id names no time. Begins
-- with a write that needs no memory: on a server that is full a script may go on after it. Forgets ids whose time is over, two
-- hundred at most: a crowd of them does not hold the server up, and each request brings one.
local function once(id, now, void_after)
  local over = redis.call('ZRANGE', D, '-inf', now - 1, 'BYSCORE', 'LIMIT', 0, 200)
  over[#over + 1] = ''
  redis.call('ZREM', D, unpack(over))
  local till = string.match(id, '@(%d+)$') or string.format('%.0f', math.max(now + REMEMBERED_US, void_after or 0))
  if redis.call('ZADD', D, 'NX', till, id) == 0 then
    return false
  end
  -- D lasts as long as its ids, and longer, so that it is put off once a minute.
  local left = math.max(math.ceil((till - now) / 1000) + 1, 0)
  if redis.call('PTTL', D) < left then
    redis.call('PEXPIRE', D, left + LONGER_MS)
  end
  return true
end

-- Does what a request asks for: all of `deed`, in which the request is remembered, or nothing. If the server refuses any of
-- it, as its access rules may, `undo` takes back what came before, the request is forgotten, and the script fails as `deed`
-- did: a repeat must not find that it was carried out.
local function all_or_nothing(id, deed, undo)
  local done, out = pcall(deed)
  if done then
    return out
  end
  if undo then
    undo()
  end
  redis.pcall('ZREM', D, id)
  -- A server from 7.0 on, which is the first to tell its version here, takes the code of an error, by which a client knows whether
  -- it passes, from a table only, and its pcall leaves the text. An older one fails over a table.
  error(redis.REDIS_VERSION and string.match(out, '^%u+ ') and {err = out} or out, 0)
end

-- Until when a request is remembered that was carried out before; false when it is not.
local function known(id)
  return redis.call('ZSCORE', D, id)
end

-- Forgets a request; true when it was remembered: what it did may be undone, once.
local function forget(id)
  return redis.call('ZREM', D, id) == 1
end
