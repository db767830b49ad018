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
  local turn = crowd and turn_of(client, n, waits, head, crowd, now)
  if turn and not turn.is_due(available) then
    local expiry = redis.call('ZSCORE', P, base .. '0000')
    if expiry then
      -- Granted when it was first carried out.
      if tonumber(expiry) < ms + lease then
        expire_at(base, n, ms + lease, 'XX')
      end
      return nil
    end
    local before = available
    available = crowd.reclaim(ms, available, ARGV[6])
    if available == before or not turn.is_due(available, true) then
      local total = available + redis.call('ZCARD', P)
      if n > total then
        turn.wake(available, client)
        return {4, now, granted, total}
      end
      if not turn.gets_past(available) then
        local rank = turn.line_up(available)
        if available >= n then
          return {3, now, granted, rank}
        end
        return {1, now, granted, crowd.first_expiry(ms), available, total, rank}
      end
    end
  end

  if turn then
    turn.prepare()
  end
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
  if turn then
    turn.leave(available, client)
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
