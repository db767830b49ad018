-- What the waiters want of an object of which there are several. Stands behind queue.lua, in front of each script of such a kind.
--
-- S  also has `want:<client>` -> how many permits the first in line of that client wants; `told:<client>` -> when it was told
--    `free` and heard it, if it has not asked since, server ms
WANTS = true

-- What has to be known where somebody waits. Made only then: each function takes 40 ns. `all`: how many there are, if that is
-- always the same.
local function wanting(all)
  -- What a client in the queue wants; more than there is when that is not known.
  local function want(client)
    return tonumber(redis.call('HGET', S, 'want:' .. client) or nil) or math.huge
  end

  -- Whether n permits are there besides those that the first `entries` of the queue want.
  local function suffices(available, n, entries)
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

  -- Whether a client was told to ask so recently, and was not found deaf since, that it is on its way.
  local function is_coming(client, ms)
    local told = tonumber(redis.call('HGET', S, 'told:' .. client) or nil)
    return told and told <= ms and ms - told < RECENT_MS and redis.call('HEXISTS', S, 'deaf:' .. client) == 0
  end

  -- Tells all entries from rank `from` on to ask whose wants fit into what is available together with those in front of them:
  -- room was made for them. One that is on its way is not told again. Ends at the caller, whose reply says more. An entry that
  -- wants more than the total is told too, and keeps nobody out. One that does not hear is marked, and leaves its permits to those
  -- behind it, of which the first that hears drops it. `total`: `all`, if it is not given.
  local function wake(queue, available, from, caller, total)
    local marked, heard = false, {}
    total = total or all
    for at, client in ipairs(redis.call('ZRANGE', Q, 0, REACH - 1)) do
      local wanted = want(client)
      local impossible = wanted > total and wanted < math.huge
      if client == caller or not impossible and wanted > available then
        break
      end
      if at > from and not is_coming(client, queue.ms) then
        if tell(client, 'free') == 0 then
          queue.front().mark(client)
          wanted, marked = 0, true
        else
          heard[#heard + 1] = 'told:' .. client
          heard[#heard + 1] = queue.ms
        end
      end
      available = impossible and available or available - wanted
    end
    if #heard > 0 then
      redis.call('HSET', S, unpack(heard))
    end
    if marked then
      queue.keep()
    end
  end

  return {want = want, suffices = suffices, wake = wake}
end

