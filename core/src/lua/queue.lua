-- The queue of the processes that wait for one lock. Stands in front of each script that has to do with it; the last two of its
-- KEYS are Q and S.
--
-- Q  ZSET  client -> when it joined: server us, larger than all before it. The first is the head, the second is next
-- S  HASH  client -> when it was last seen, server ms; and `barged`: how many tries have overtaken the present head
--
-- A client hears in its inbox, the channel dlock_inbox:<client>, `free;<lock>` when it should ask for the lock and `next;<lock>`
-- when it is the one behind the head.
local L, Q, S = KEYS[1], KEYS[#KEYS - 1], KEYS[#KEYS]
local HEAD_SILENCE_MS, SILENCE_MS, KEPT_MS = 2500, 15000, '60000'

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- By pcall: a message that may not be sent must not undo what it tells of. False then.
local function tell(client, what)
  local receivers = redis.pcall('PUBLISH', 'dlock_inbox:' .. client, what .. ';' .. L)
  return type(receivers) ~= 'table'
end

-- What can be done to the queue at `now`. Only a script that finds somebody waiting asks for it: to make these functions takes
-- about as long as a command, and where nobody waits they are not needed.
local function queue_at(now)
  local queue = {}
  local ms = math.floor(now / 1000)
  local stamp = string.format('%.0f', ms)

  function queue.keep()
    redis.call('PEXPIRE', Q, KEPT_MS)
    redis.call('PEXPIRE', S, KEPT_MS)
  end

  function queue.head()
    return redis.call('ZRANGE', Q, 0, 0)[1]
  end

  -- Whether a client was silent for so long. One without a stamp, or with a stamp from before the clock went back, is stamped now.
  function queue.is_silent(client, limit)
    local seen = tonumber(redis.call('HGET', S, client) or nil)
    if not seen or seen > ms then
      redis.call('HSET', S, client, stamp)
      return false
    end
    return ms - seen >= limit
  end

  -- Those from rank `from` on (0 or 1) have moved up. Who is head or next now by that counts as seen, since it did not know that
  -- it had to be; the others keep their stamps. `free`: the new head should ask for the lock. The caller learns it from the reply.
  function queue.moved_up(from, free, caller)
    local front = redis.call('ZRANGE', Q, 0, 1)
    if #front == 0 then
      redis.call('DEL', S)
      return
    end
    if from == 0 then
      redis.call('HDEL', S, 'barged')
    end
    for at = from + 1, #front do
      redis.call('HSET', S, front[at], stamp)
    end
    queue.keep()
    if free and from == 0 and front[1] and front[1] ~= caller then
      tell(front[1], 'free')
    end
    if front[2] and front[2] ~= caller then
      tell(front[2], 'next')
    end
  end

  -- Takes a client out; the rank that it had, or false.
  function queue.leave(client)
    local rank = redis.call('ZRANK', Q, client)
    if rank then
      -- S first: should it be somebody else's key, this fails before anything is done.
      redis.call('HDEL', S, client)
      redis.call('ZREM', Q, client)
    end
    return rank
  end

  -- A client says that it waits: at its place, or from now on at the end, also when the clock went back since the last one came.
  -- Its rank, and whether it was there already.
  function queue.wait(client)
    local rank = redis.call('ZRANK', Q, client)
    local stood = rank
    redis.call('HSET', S, client, stamp)
    if not rank then
      local last = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')[2]
      local score = last and tonumber(last) >= now and tonumber(last) + 1 or now
      redis.call('ZADD', Q, string.format('%.0f', score), client)
      rank = redis.call('ZCARD', Q) - 1
    end
    queue.keep()
    return rank, stood
  end

  -- As `wait`, at an acquire. The entry in front may belong to a process that is gone: one that has missed several looks is
  -- dropped.
  function queue.line_up(client)
    local rank, stood = queue.wait(client)
    if not stood or rank == 0 then
      return rank
    end
    local front = redis.call('ZRANGE', Q, rank - 1, rank - 1)[1]
    if not queue.is_silent(front, SILENCE_MS) then
      return rank
    end
    queue.leave(front)
    rank = rank - 1
    if rank <= 1 then
      queue.moved_up(rank, true, client)
    end
    return rank
  end

  return queue
end
