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

local function millis(now)
  return string.format('%.0f', math.floor(now / 1000))
end

-- By pcall: a message that may not be sent must not undo what it tells of. False then.
local function tell(client, what)
  local receivers = redis.pcall('PUBLISH', 'dlock_inbox:' .. client, what .. ';' .. L)
  return type(receivers) ~= 'table'
end

local function keep()
  redis.call('PEXPIRE', Q, KEPT_MS)
  redis.call('PEXPIRE', S, KEPT_MS)
end

-- How long a client was silent, in ms. One without a stamp, or with a stamp from before the clock went back, is stamped now.
local function silence(client, now)
  local seen = tonumber(redis.call('HGET', S, client) or nil)
  local ms = math.floor(now / 1000)
  if not seen or seen > ms then
    redis.call('HSET', S, client, millis(now))
    return 0
  end
  return ms - seen
end

-- Those from rank `from` on (0 or 1) have moved up. Who is head or next now by that counts as seen, since it did not know that it
-- had to be; the others keep their stamps. `free`: the new head should ask for the lock. The caller learns it from the reply.
local function moved_up(from, now, free, caller)
  local front = redis.call('ZRANGE', Q, 0, 1)
  if #front == 0 then
    redis.call('DEL', S)
    return
  end
  if from == 0 then
    redis.call('HDEL', S, 'barged')
  end
  for at = from + 1, #front do
    redis.call('HSET', S, front[at], millis(now))
  end
  keep()
  if free and from == 0 and front[1] and front[1] ~= caller then
    tell(front[1], 'free')
  end
  if front[2] and front[2] ~= caller then
    tell(front[2], 'next')
  end
end

-- Takes a client out; the rank that it had, or false.
local function leave(client)
  local rank = redis.call('ZRANK', Q, client)
  if rank then
    -- S first: should it be somebody else's key, this fails before anything is done.
    redis.call('HDEL', S, client)
    redis.call('ZREM', Q, client)
  end
  return rank
end

-- A client that is in the queue says that it still waits; its rank, or false.
local function stay(client, now)
  local rank = redis.call('ZRANK', Q, client)
  if rank then
    redis.call('HSET', S, client, millis(now))
    keep()
  end
  return rank
end

-- Puts a client that is not in the queue at its end, also when the clock went back since the last one came.
local function join(client, now)
  local last = redis.call('ZRANGE', Q, -1, -1, 'WITHSCORES')
  local score = now
  if last[2] and tonumber(last[2]) >= now then
    score = tonumber(last[2]) + 1
  end
  redis.call('HSET', S, client, millis(now))
  redis.call('ZADD', Q, string.format('%.0f', score), client)
  keep()
  return redis.call('ZCARD', Q) - 1
end
