-- Takes one side of a read-write lock, or says what is in the way. One field names one acquire, so that a retry finds its own and
-- changes nothing.
--
-- KEYS     L, T, K, Q, S: see holds.lua, token.lua and queue.lua; K is that of the hold that is asked for
-- ARGV[1]  client
-- ARGV[2]  field of the hold: <owner>, or <owner>:write
-- ARGV[3]  lease in ms
-- ARGV[4]  not after, server time in us: later than this the request is void
-- ARGV[5]  ms for which the token key outlives this, see token.lua
-- ARGV[6]  1 to stand in the queue if it is not granted, 0 for a non-blocking attempt, 2 for a writer that takes the lock away from
--          whoever holds it, past the queue
-- ARGV[7]  Redisson's channel of the lock
-- ARGV[8]  field of the write hold under which a reader asks, or nothing: whoever writes may read as well
--
-- Reply    {0, now us, token}                 granted
--          {1, now us, ttl ms, holder, rank}  busy; ttl -1: without end; holder: the writer, or how many readers; rank -1: does
--                                             not wait
--          {2, now us}                        too late, nothing done
--          {3, now us, rank}                  to be had, but others come first
--
-- Never a writer beside another holder, unless that reads under it. Nothing is granted that somebody in front is waiting for, but
-- for two non-blocking attempts per head, and to a writer that takes the lock away: the holds of others are over then, and their
-- clients are told `lost`.
local T, K = KEYS[2], KEYS[3]
local client, field, lease, waits, under = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6] == '1', ARGV[8]
local steals = ARGV[6] == '2'
local now = clock()
if now > tonumber(ARGV[4]) then
  return {2, now}
end
local mode = mode_of()
if mode == false then
  return redis.error_reply(NO_LOCK)
end

if mode and redis.call('HEXISTS', L, field) == 1 then
  local given = redis.call('GET', K)
  if given then
    -- Granted when it was first carried out.
    local token = last_token(given, 0)
    if not token then
      return redis.error_reply(NO_TOKEN)
    end
    if redis.call('PTTL', K) < lease then
      redis.call('PEXPIRE', K, lease)
    end
    keep_for(lease)
    return {0, now, token}
  end
end

local n = writes(field) and ALL or 1
local head = not steals and redis.call('ZRANGE', Q, 0, 0)[1]
local turn = not steals and (head or available_in(mode) < n) and turn_of(client, n, waits, head, head and wanting(ALL), now)
local beneath = under ~= '' and mode == 'write' and redis.call('HEXISTS', L, under) == 1 and left_of(under, '1') > 0
if turn and not beneath and not turn.is_due(available_in(mode)) then
  -- What follows may end in an error, and an error changes nothing.
  local last = redis.call('GET', T)
  if last and not last_token(last, 1) then
    return redis.error_reply(NO_TOKEN)
  end
  local due = false
  if mode == 'write' then
    local writing, left = writer()
    if left <= 0 then
      redis.call('HDEL', L, writing)
      mode = after_writer(ARGV[7])
      due = turn.is_due(available_in(mode), true)
    end
  elseif n == ALL and waits and (not head or head == client) and is_crowded(mode) then
    if after_reader(ARGV[7], MOST_OF_A_CROWD) then
      mode = nil
      due = turn.is_due(available_in(mode), true)
    end
  end
  local available = available_in(mode)
  if not due and not turn.gets_past(available) then
    local rank = turn.line_up(available)
    if available >= n then
      return {3, now, rank}
    end
    local ttl, holder = in_the_way(mode)
    return {1, now, ttl, holder, rank}
  end
end

if turn then
  turn.prepare()
end
local token = mint(T, now, ARGV[5], 1)
if not token then
  return redis.error_reply(NO_TOKEN)
end
if steals and mode then
  for _, victim in ipairs(end_all()) do
    tell(victim, 'lost')
  end
  mode = nil
end
if mode then
  redis.call('HSET', L, field, '1')
  keep_for(lease)
else
  mode = n == ALL and 'write' or 'read'
  redis.call('HSET', L, 'mode', mode, field, '1')
  redis.call('PEXPIRE', L, lease)
end
redis.call('SET', K, string.format('%.0f', token), 'PX', lease)
if turn then
  turn.leave(available_in(mode), waits and client)
end
return {0, now, token}
