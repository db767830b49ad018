-- Takes jobs that are due, for several deliveries of one client, one after the other, up to the first for which there is none. One owner
-- names one delivery, so that a repeat finds its own.
--
-- KEYS     M, D, R, F, O, X, N, Q, S: see jobs.lua
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
--          A delivery is {token, id, what M has of the job}: this one is not among its deliveries yet
--
-- Takes back what was lost before it looks, so that this comes first again, and finds which jobs have become due.
local client, lease, waits = ARGV[2], tonumber(ARGV[3]), ARGV[5] == '1'
local now = clock()
if now > tonumber(ARGV[4]) then
  return {2, now}
end
local ms = math.floor(now / 1000)
local deliveries, promoted = {}, false
-- How many bytes of jobs one reply has before it begins no further delivery.
local BYTES_AT_ONCE = 1048576
local bytes = 0

local function deliver(token, id, text)
  bytes = bytes + #text
  deliveries[#deliveries + 1] = {token, id, text}
end

local function holding(token, id)
  return string.format('%d ', token) .. id
end

-- Once for all owners: it is for more jobs than they take.
local function promote_once()
  if not promoted then
    promote(ms)
    promoted = true
  end
end

-- Fails for what is no job that can be taken.
local function check(text)
  local place, _, _, _, _, size = words(text or '')
  if place ~= 'w' or size ~= '0' then
    refuse('WRONGTYPE the key holds no jobs')
  end
end

-- What M has of these jobs, up to the one that is enough for one reply: a few at first, and then as many as will not be much more,
-- if they are like the largest so far.
local function texts_of(ids)
  local texts, size, largest, count = {}, bytes, 1, 8
  while #texts < #ids and size < BYTES_AT_ONCE do
    local last = math.min(#texts + count, #ids)
    for _, text in ipairs(redis.call('HMGET', M, unpack(ids, #texts + 1, last))) do
      if size >= BYTES_AT_ONCE then
        break
      end
      check(text)
      texts[#texts + 1] = text
      size, largest = size + #text, math.max(largest, #text)
    end
    count = math.ceil((BYTES_AT_ONCE - size) / largest)
  end
  return texts
end

-- Where nobody waits, no delivery is over and none of these is known, all that is due is delivered by few commands, which costs much
-- less than one take after the other, and does the same. How many of the owners have a delivery then.
local function take_at_once(owners)
  if redis.call('ZRANGE', Q, 0, 0)[1] or redis.call('ZRANGEBYSCORE', F, '-inf', ms, 'LIMIT', 0, 1)[1] then
    return 0
  end
  local known = redis.call('HMGET', O, unpack(owners))
  for each = 1, #owners do
    if known[each] then
      return 0
    end
  end
  promote_once()
  local members = redis.call('ZRANGEBYSCORE', R, '-inf', ms, 'LIMIT', 0, #owners)
  if #members == 0 then
    return 0
  end
  local ids = {}
  for each, member in ipairs(members) do
    ids[each] = string.sub(member, RANK + 1)
  end
  local texts = texts_of(ids)
  redis.call('ZREM', F, '')
  may_add(F)
  local first = next_numbers(now, #texts)
  local leases, held = {}, {}
  local ends = string.format('%d', ms + lease)
  for each, text in ipairs(texts) do
    local owner, token, at = owners[each], first + each - 1, 2 * each
    leases[at - 1], leases[at] = ends, owner
    held[at - 1], held[at] = owner, holding(token, ids[each])
    deliver(token, ids[each], text)
  end
  redis.call('HSET', O, unpack(held))
  redis.call('ZADD', F, unpack(leases))
  redis.call('ZREM', R, unpack(members, 1, #texts))
  return #texts
end

-- Nil when it is delivered; otherwise what the reply says.
local function take(owner)
  local token, known = delivery(owner)
  if token then
    local text = redis.call('HGET', M, known)
    if text then
      local score = redis.call('ZSCORE', F, owner)
      if not score or tonumber(score) < ms + lease then
        -- Else a server that has become full refuses a repeat of what it has done.
        redis.call('ZREM', F, '')
        redis.call('ZADD', F, ms + lease, owner)
      end
      deliver(tonumber(token), known, text)
      return nil
    end
  end
  reclaim(ms)
  local head = redis.call('ZRANGE', Q, 0, 0)[1]
  promote_once()
  local front = redis.call('ZRANGE', R, 0, 0, 'WITHSCORES')
  local is_due = front[2] and tonumber(front[2]) <= ms
  -- How many are due concerns only those who wait.
  local available = is_due and (head and ready(ms) or 1) or 0
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
  local member = front[1]
  local id = string.sub(member, RANK + 1)
  local text = redis.call('HGET', M, id)
  check(text)
  if turn then
    turn.prepare()
  end
  redis.call('ZREM', F, '')
  may_add(F)
  token = next_numbers(now, 1)
  redis.call('HSET', O, owner, holding(token, id))
  redis.call('ZADD', F, ms + lease, owner)
  redis.call('ZREM', R, member)
  if turn then
    turn.leave(available - 1, client)
    if available == 1 then
      tell_new_head(ms, client)
    end
  end
  deliver(token, id, text)
  return nil
end

local at_once = take_at_once({unpack(ARGV, 6)})
for at = 6 + at_once, #ARGV do
  if bytes >= BYTES_AT_ONCE then
    return {2, now, deliveries}
  end
  local refused = take(ARGV[at])
  if refused then
    return refused
  end
end
return {0, now, deliveries}
