-- The queue's half of an acquire of an object of which there are several. Stands behind wants.lua, in front of what the kind has of
-- its own, in each script that acquires such an object.

-- One acquire of a client that wants `n`, and how it stands with those that wait. Made only where somebody waits or too few are
-- available: each function takes 40 ns. `head`: of the queue, if anybody waits; `wants`, see wants.lua: needed only then.
local function turn_of(client, n, waits, head, wants, now)
  local queue = head and queue_at(now)
  -- From which rank on room was made; whether this attempt jumps the head; what the queue has of the client.
  local from, jumps, wanted

  -- Whether it harms nobody in front to grant it. `made`: room was made.
  local function is_due(available, made)
    if made then
      from = 0
    end
    if not head then
      return available >= n
    end
    return wants.suffices(available, n, waits and redis.call('ZRANK', Q, client) or redis.call('ZCARD', Q))
  end

  -- Others come first: if there are enough permits, drops those of them that are dead. Whether it can be granted then, because it
  -- is due or because it jumps the head: a non-blocking attempt may, at most twice per head.
  local function gets_past(available)
    if available < n then
      return false
    end
    if head ~= client and not queue.is_there(head) then
      local entries = redis.call('ZCARD', Q)
      queue.front().drop_gone(client, waits and client)
      head = redis.call('ZRANGE', Q, 0, 0)[1]
      if redis.call('ZCARD', Q) < entries and is_due(available, true) then
        return true
      end
    end
    jumps = not waits and head and may_jump(redis.call('HGET', S, 'barged'))
    return jumps
  end

  -- Tells those for whom room was made; see wants.lua.
  local function wake(available, caller)
    if from and head then
      wants.wake(queue, available, from, caller)
    end
  end

  -- It is not granted: lines the client up, if it waits, and tells those for whom room was made. The client's rank; -1 when it does
  -- not wait.
  local function line_up(available)
    local rank = -1
    if waits then
      queue = queue or queue_at(now)
      rank = queue.stay(client, true)
      if rank then
        local stood = rank
        rank = queue.drop_silent(client, rank)
        from = rank < stood and math.min(from or rank, rank) or from
      else
        rank = queue.join(client)
      end
      redis.call('HSET', S, 'want:' .. client, n)
    else
      -- What a server that is no primary any more has may be old: it refuses this write, which changes nothing and needs no memory.
      redis.call('ZREM', Q, '')
    end
    wake(available, waits and client)
    return rank
  end

  -- To be called before anything is taken: should S be somebody else's key, this fails.
  local function prepare()
    wanted = head and waits and wants.want(client)
  end

  -- It is granted: leaves the queue, or has jumped its head, and tells those for whom room was made. `available`: after it; `caller`:
  -- as for `wake`.
  local function leave(available, caller)
    if jumps then
      redis.call('HINCRBY', S, 'barged', 1)
      queue.keep()
    elseif wanted then
      local rank = queue.leave(client)
      if rank and rank <= 1 then
        queue.moved_up(rank, false, client)
      end
      -- The server kept room for more than was taken.
      if rank and n < wanted then
        from = math.min(from or rank, rank)
      end
    end
    wake(available, caller)
  end

  -- Made at once: a table that grows costs twice as much.
  return {is_due = is_due, gets_past = gets_past, wake = wake, line_up = line_up, prepare = prepare, leave = leave}
end

