-- Takes permits for several acquires of one client, one after the other, up to the first that is not granted; says of that
-- what is in the way. One base of ids names one acquire, so that a retry finds its own ids and takes no more.
--
-- KEYS          L, P, Q, S: see permits.lua and queue.lua
-- ARGV[1]       client
-- ARGV[2]       lease in ms
-- ARGV[3]       not after, server time in us: later than this the request is void
-- ARGV[4]       1 to stand in the queue if they are not granted, 0 for a non-blocking attempt
-- ARGV[5]       the total, for a semaphore that is not there yet
-- ARGV[6]       Redisson's channel of the semaphore; gets the number that is available
-- ARGV[5 + 2i]  base of the ids of acquire i
-- ARGV[6 + 2i]  how many permits it takes
--
-- Reply         {0, now us}                                         all granted
--               {1, now us, granted, ttl ms, available, total, rank}  too few are available; ttl: until the first of those
--                                                                   that are taken expires, -1: none will; rank -1: does not
--                                                                   wait
--               {2, now us}                                         too late, nothing done
--               {3, now us, granted, rank}                          so many are available, but others come first
--               {4, now us, granted, total}                         more than there are
--               granted: how many acquires were, before this one
--
-- Never grants more than there are, and nothing that somebody in front is waiting for, but for two non-blocking attempts per
-- head.
local client, lease, waits = ARGV[1], tonumber(ARGV[2]), ARGV[4] == '1'
local now = clock()
if now > tonumber(ARGV[3]) then
  return {2, now}
end
local ms = math.floor(now / 1000)

-- Nil when they are granted; otherwise what the reply says.
local function acquire(base, n, granted)
  local available = count()
  if available == false then
    return redis.error_reply(NO_NUMBER)
  end
  local head = redis.call('ZRANGE', Q, 0, 0)[1]
  local made = available == nil
  if made then
    available = tonumber(ARGV[5]) - redis.call('ZCARD', P)
    redis.call('SET', L, available)
    keep_permits(lease, true)
  end

  local crowd = (head or available < n) and crowded()
  local queue = head and queue_at(now)
  -- From which rank on room was made; whether this attempt jumps the head.
  local from, barges
  -- Whether it harms nobody in front to grant them.
  local function is_due()
    if not head then
      return available >= n
    end
    return crowd.suffices(available, n, waits and redis.call('ZRANK', Q, client) or redis.call('ZCARD', Q))
  end

  if crowd and not is_due() then
    local expiry = redis.call('ZSCORE', P, base .. '0000')
    if expiry then
      -- Granted when it was first carried out.
      if tonumber(expiry) < ms + lease then
        expire_at(base, n, ms + lease, 'XX')
      end
      return nil
    end
    local due, before = false, available
    available = crowd.reclaim(ms, available, ARGV[6])
    if available > before then
      due, from = is_due(), 0
    end
    if not due then
      local total = available + redis.call('ZCARD', P)
      if n > total then
        if from and head then
          crowd.wake(queue, available, from, client)
        end
        return {4, now, granted, total}
      end
      if available >= n and head and head ~= client and not queue.is_there(head) then
        local entries = redis.call('ZCARD', Q)
        queue.front().drop_gone(client, waits and client)
        if redis.call('ZCARD', Q) < entries then
          due, from = is_due(), 0
        end
        head = redis.call('ZRANGE', Q, 0, 0)[1]
      end
      -- A non-blocking attempt may jump the queue, at most twice per head.
      barges = not due and not waits and head and available >= n and may_jump(redis.call('HGET', S, 'barged'))
    end
    if not due and not barges then
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
      end
      if from and redis.call('EXISTS', Q) == 1 then
        crowd.wake(queue or queue_at(now), available, from, waits and client)
      end
      if available >= n then
        return {3, now, granted, rank}
      end
      return {1, now, granted, crowd.first_expiry(ms), available, available + redis.call('ZCARD', P), rank}
    end
  end

  -- Read before anything is taken: should S be somebody else's key, this fails.
  local wanted = head and waits and crowd.want(client)
  local added = expire_at(base, n, ms + lease, 'NX')
  if added == 0 then
    -- Granted when it was first carried out.
    if tonumber(redis.call('ZSCORE', P, base .. '0000')) < ms + lease then
      expire_at(base, n, ms + lease, 'XX')
    end
    return nil
  end
  if added < n then
    -- A repeat of an acquire whose lease is over and of which a part was taken back: that part is taken again.
    expire_at(base, n, ms + lease, 'XX')
  end
  available = redis.call('DECRBY', L, added)
  keep_permits(lease, made)
  if barges then
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
  if from and head then
    crowd.wake(queue, available, from, client)
  end
  return nil
end

for at = 7, #ARGV, 2 do
  local refused = acquire(ARGV[at], tonumber(ARGV[at + 1]), (at - 7) / 2)
  if refused then
    return refused
  end
end
return {0, now}
