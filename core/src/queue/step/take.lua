-- Takes jobs that are due, for several deliveries of one client, one after the other, up to the first for which there is none. One owner
-- names one delivery, so that a repeat finds its own.
--
-- KEYS     M, D, P, R, F, O, X, N, Q, S: see jobs.lua
-- ARGV[2]  client
-- ARGV[3]  lease in ms
-- ARGV[4]  not after, server time in us: later than this the request is void
-- ARGV[5]  1 to stand in the queue of waiters if there is none, 0 for a non-blocking attempt
-- ARGV[6+] owners of the deliveries
--
-- Reply    {0, now us, deliveries}                    one for each owner
--          {1, now us, deliveries, ttl ms, due, rank}  no more is due; ttl: when the head should ask, -1 for others and when nothing
--                                                      waits; rank -1: does not wait
--          {2, now us}                                too late, nothing done
--          {2, now us, deliveries}                    enough for one reply: nothing was done for the others, who ask again
--          {3, now us, deliveries, rank}              more is due, but others come first
--          A delivery is {token, id, payload, how often it was delivered, due ms, rank}
--
-- Takes back what was lost before it looks, so that this comes first again.
local client, lease, waits = ARGV[2], tonumber(ARGV[3]), ARGV[5] == '1'
local now = clock()
if now > tonumber(ARGV[4]) then
  return {2, now}
end
local ms = math.floor(now / 1000)
local deliveries = {}
-- How many bytes of payload one reply has before it begins no further delivery.
local BYTES_AT_ONCE = 1048576
local bytes = 0

local function deliver(token, id, job)
  local payload = redis.call('HGET', P, id) or ''
  bytes = bytes + #payload
  deliveries[#deliveries + 1] = {tonumber(token), id, payload, job.deliveries, job.due, job.rank}
end

-- Nil when it is delivered; otherwise what the reply says.
local function take(owner)
  local token, known = delivery(owner)
  if token then
    local text = redis.call('HGET', M, known)
    if text then
      local score = redis.call('ZSCORE', F, owner)
      if not score or tonumber(score) < ms + lease then
        redis.call('ZADD', F, ms + lease, owner)
      end
      deliver(token, known, parse(text))
      return nil
    end
  end
  reclaim(ms)
  local head = redis.call('ZRANGE', Q, 0, 0)[1]
  local available = ready(ms)
  local crowd = (head or available == 0) and wanting(math.huge)
  local turn = crowd and turn_of(client, 1, waits, head, crowd, now)
  -- Time makes room: whoever else can be served is told.
  if turn and not turn.is_due(available, true) and not turn.gets_past(available) then
    local rank = turn.line_up(available)
    if available > 0 then
      return {3, now, deliveries, rank}
    end
    local ttl = -1
    if rank == 0 then
      local first = first_due()
      local over = tonumber(redis.call('ZRANGE', F, 0, 0, 'WITHSCORES')[2])
      first = math.min(first or over or math.huge, over or math.huge)
      ttl = first < math.huge and math.max(first - ms, 0) or -1
    end
    return {1, now, deliveries, ttl, available, rank}
  end
  local member = redis.call('ZRANGE', R, 0, 0)[1]
  local id = string.sub(member, RANK + 1)
  local text = redis.call('HGET', M, id)
  if not text then
    refuse('WRONGTYPE the key holds no jobs')
  end
  local job = parse(text)
  job.deliveries = job.deliveries + 1
  if turn then
    turn.prepare()
  end
  redis.call('ZREM', F, '')
  may_add(F)
  token = next_number(now)
  redis.call('HSET', M, id, entry('t', job.due, job.rank, job.deliveries, job.most))
  redis.call('ZADD', F, ms + lease, owner)
  redis.call('HSET', O, owner, token .. ' ' .. id)
  redis.call('ZREM', R, member)
  if turn then
    turn.leave(available - 1, client)
    if available == 1 then
      tell_new_head(ms, client)
    end
  end
  deliver(token, id, job)
  return nil
end

for at = 6, #ARGV do
  if bytes >= BYTES_AT_ONCE then
    return {2, now, deliveries}
  end
  local refused = take(ARGV[at])
  if refused then
    return refused
  end
end
return {0, now, deliveries}
