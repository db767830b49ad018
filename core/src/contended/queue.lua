-- The queue of the processes that wait for one object. Stands in front of each script that has to do with it. The first of its
-- KEYS is the object's, the last two are Q and S, whose names contain the kind of the object.
--
-- Q  ZSET  client -> when it joined: server us, larger than all before it. The first is the head, the second is next
-- S  HASH  client -> when it was last seen, server ms; `deaf:<client>` -> since when nobody listens to its inbox, server ms; and
--          `barged`: how many non-blocking attempts have jumped the present head
--
-- A client hears in its inbox, the channel dlock_inbox:<client>, `free;<object>` when it should ask for the object and
-- `next;<object>` when it is the one behind the head. A kind other than the lock sets KIND: its messages begin with that. With
-- sharded messages it has another inbox in the slot of each object that it waits for: see `tell`.
local L, Q, S = KEYS[1], KEYS[#KEYS - 1], KEYS[#KEYS]
local KIND = ''
-- Whether S also has `want:<client>` and `told:<client>`, see wants.lua. So it is for a kind that sets this. Its scripts say
-- themselves whose turn it is.
local WANTS = false
local HEAD_SILENCE_MS, SILENCE_MS, KEPT_MS = 2500, 15000, '60000'
-- A head that was seen so recently, and was not found deaf since, is there.
local RECENT_MS = 100
-- How many entries from the front one script scans.
local REACH = 500

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- By pcall: a message that may not be sent must not undo what it tells of. False then, else how many heard it.
--
-- With sharded messages it is said in the slot, in the channel dlock_inbox:{<name>}:<client>, with braces as Q has them. One who
-- does not listen there, not yet or because it only holds the object, is told in the inbox that it has at every node.
local function tell(client, what)
  local message = KIND .. what .. ';' .. L
  if PUBLISH == 'SPUBLISH' then
    local named = string.sub(Q, (string.find(Q, ':', 1, true)))
    local receivers = redis.pcall(PUBLISH, 'dlock_inbox' .. named .. ':' .. client, message)
    if type(receivers) ~= 'table' and receivers > 0 then
      return receivers
    end
  end
  local receivers = redis.pcall('PUBLISH', 'dlock_inbox:' .. client, message)
  return type(receivers) ~= 'table' and receivers
end

-- Whether a non-blocking attempt may jump the head, as `barged` says: at most twice, and never where others have written what is no
-- such number.
local function may_jump(barged)
  return not barged or barged == '1'
end

-- What can be done to the queue at `now`. Only a script that finds somebody waiting asks for it: to make these functions takes
-- about as long as a command, and where nobody waits they are not needed.
local function queue_at(now)
  local queue
  local ms = math.floor(now / 1000)

  local function keep()
    redis.call('PEXPIRE', Q, KEPT_MS)
    redis.call('PEXPIRE', S, KEPT_MS)
  end

  -- Whether a client was silent for so long. One without a stamp, or with a stamp from before the clock went back, is stamped now.
  local function is_silent(client, limit)
    local seen = tonumber(redis.call('HGET', S, client) or nil)
    if not seen or seen > ms then
      redis.call('HSET', S, client, ms)
      return false
    end
    return ms - seen >= limit
  end

  -- Whether a client was seen so recently that it need not be asked. After most releases that is so of the head: it was told,
  -- it heard, and it is on its way.
  local function is_there(client)
    local seen = tonumber(redis.call('HGET', S, client) or nil)
    return seen and seen <= ms and ms - seen < RECENT_MS and redis.call('HEXISTS', S, 'deaf:' .. client) == 0
  end

  -- Takes a client out, whose rank may be known; the rank that it had, or false. Nobody has jumped the head that comes after it.
  local function leave(client, known)
    local rank = known or redis.call('ZRANK', Q, client)
    if rank then
      -- S first: should it be somebody else's key, this fails before anything is done.
      if rank == 0 then
        redis.call('HDEL', S, client, 'deaf:' .. client, 'barged')
      else
        redis.call('HDEL', S, client, 'deaf:' .. client)
      end
      if WANTS then
        redis.call('HDEL', S, 'want:' .. client, 'told:' .. client)
      end
      redis.call('ZREM', Q, client)
    end
    return rank
  end

  -- The entries from rank `from` on (0 or 1) have moved up. A new head and a new next are stamped, because until now they did not
  -- know that they had to ask often; the other entries keep their stamps. `free`: tells the new head to ask for the lock. The
  -- caller is not told: its reply says the same.
  local function moved_up(from, free, caller)
    local front = redis.call('ZRANGE', Q, 0, 1)
    if #front == 0 then
      redis.call('DEL', S)
      return
    end
    -- In one command, which stamps the same client twice where only one has moved up. The waiters keep both keys alive; but an S
    -- that this makes anew has no time to live yet.
    if #front > from and redis.call('HSET', S, front[from + 1], ms, front[#front], ms) > 0 then
      keep()
    end
    if free and from == 0 and front[1] ~= caller then
      if tell(front[1], 'free') == 0 then
        queue.front().pass_on(caller)
      end
    end
    if front[2] and front[2] ~= caller then
      tell(front[2], 'next')
    end
  end

  -- A client that stands in the queue says that it still waits: its rank, or false. S never stays without a time to live.
  local function stay(client, put_off)
    local rank = redis.call('ZRANK', Q, client)
    if rank then
      if WANTS then
        redis.call('HDEL', S, 'deaf:' .. client, 'told:' .. client)
      else
        redis.call('HDEL', S, 'deaf:' .. client)
      end
      if redis.call('HSET', S, client, ms) == 1 or put_off then
        keep()
      end
    end
    return rank
  end

  -- Puts a client at the end, also when the clock went back since the last one came; its rank.
  local function join(client)
    redis.call('HSET', S, client, ms)
    local last = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')[2]
    local score = last and tonumber(last) >= now and tonumber(last) + 1 or now
    redis.call('ZADD', Q, score, client)
    keep()
    return redis.call('ZCARD', Q) - 1
  end

  -- The entry in front of a client, which stands at `rank`, may belong to a process that is gone: one that has missed several
  -- looks is dropped. The client's rank then.
  local function drop_silent(client, rank)
    if rank == 0 then
      return rank
    end
    local front = redis.call('ZRANGE', Q, rank - 1, rank - 1)[1]
    if not is_silent(front, SILENCE_MS) then
      return rank
    end
    leave(front)
    rank = rank - 1
    if rank <= 1 then
      moved_up(rank, not WANTS, client)
    end
    return rank
  end

  -- Lines a client up at an acquire: at its place, where a silent entry in front of it is dropped, or at the end; its rank.
  local function enqueue(client)
    local rank = stay(client, true)
    return rank and drop_silent(client, rank) or join(client)
  end

  -- Functions that mark and drop dead entries at the front. Made only if the object is free and its head has not come.
  local function front()
    local dead = {}

    -- Since when nobody listens to a client's inbox: from now on, unless that was known.
    local function deaf_since(client)
      local since = tonumber(redis.call('HGET', S, 'deaf:' .. client) or nil)
      if not since or since > ms then
        redis.call('HSET', S, 'deaf:' .. client, ms)
        return ms
      end
      return since
    end

    -- A client was told something and did not hear it.
    function dead.mark(client)
      deaf_since(client)
    end

    -- The head was told `free` and did not hear it: marks it, and tells the entries behind it in turn, marking each that does
    -- not hear either. The first that hears asks in their place, and later drops them.
    function dead.pass_on(caller)
      for at, client in ipairs(redis.call('ZRANGE', Q, 0, REACH - 1)) do
        if client == caller or at > 1 and tell(client, 'free') ~= 0 then
          break
        end
        deaf_since(client)
      end
      keep()
    end

    -- Scans the queue from the front and drops the dead entries. The scan ends at the first entry that hears, or at `client`,
    -- which runs this script. An entry is dead after HEAD_SILENCE_MS of silence at the head and behind it, where it has to ask
    -- often, after SILENCE_MS elsewhere, and when nobody has listened to its inbox for HEAD_SILENCE_MS, the time that it had to
    -- connect anew. `caller`: the client, if it waits.
    function dead.drop_gone(client, caller)
      local first, count = nil, 0
      for at, entry in ipairs(redis.call('ZRANGE', Q, 0, REACH - 1)) do
        if entry == client then
          break
        end
        local gone = is_silent(entry, at <= 2 and HEAD_SILENCE_MS or SILENCE_MS)
        if not gone then
          if tell(entry, 'here') ~= 0 then
            redis.call('HDEL', S, 'deaf:' .. entry)
            break
          end
          gone = ms - deaf_since(entry) >= HEAD_SILENCE_MS
        end
        if gone then
          leave(entry)
          first, count = first or at - 1, count + 1
        end
      end
      if count == REACH and caller and redis.call('EXISTS', Q) == 1 then
        -- More dead entries may follow: the caller asks again at once.
        tell(caller, 'free')
      elseif first and first <= 1 then
        moved_up(first, not WANTS, caller)
      end
      keep()
    end

    return dead
  end

  -- Made at once: a table that grows costs twice as much.
  queue = {
    ms = ms, keep = keep, is_there = is_there, leave = leave, moved_up = moved_up, stay = stay, join = join,
    drop_silent = drop_silent, enqueue = enqueue, front = front,
  }
  return queue
end
