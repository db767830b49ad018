-- Takes a lock, or says what is in the way. One owner names one acquire, so that a retry finds its own field and changes nothing.
--
-- KEYS[1]  L, the lock: HASH with one field <owner> -> 1 (Redisson's RLock)
-- KEYS[2]  T, its last fencing token: see token.lua
-- KEYS[3]  Q, KEYS[4]  S: see queue.lua
-- ARGV[1]  owner, <client>:<n>
-- ARGV[2]  lease in ms
-- ARGV[3]  not after, server time in us: later than this the request is void
-- ARGV[4]  ms for which the token key outlives this acquire, or the clock's arrival at a token that lies ahead; half of it at
--          least. 0 = for ever
-- ARGV[5]  how many tokens to reserve
-- ARGV[6]  1 to stand in the queue if the lock is not granted, 0 for a non-blocking attempt
--
-- Reply    {0, now us, token}                 granted; the reserved tokens are this one and those that follow it
--          {1, now us, ttl ms, holder, rank}  busy; ttl -1: a foreign key without expiry; rank -1: does not wait;
--                                             of a holder its first 256 bytes: a foreign one may be of any size
--          {2, now us}                        too late, nothing done
--          {3, now us, rank}                  free, but others come first
--
-- Keeps I1 (one owner), I2 (always a TTL), I3 (tokens increase), I5, I6.
local T = KEYS[2]
local owner, lease, block, waits = ARGV[1], ARGV[2], tonumber(ARGV[5]), ARGV[6] == '1'
local now = clock()
if now > tonumber(ARGV[3]) then
  return {2, now}
end

local holder = redis.call('HRANDFIELD', L)
if holder == owner then
  local token = minted(T, now, ARGV[4], block)
  if not token then
    return redis.error_reply(NO_TOKEN)
  end
  if redis.call('PTTL', L) < tonumber(lease) then
    redis.call('PEXPIRE', L, lease)
  end
  return {0, now, token}
end

-- A non-blocking attempt that is refused changes nothing. A server that is no primary any more must not refuse it, because what that
-- one has may be old: it refuses this write instead, which changes nothing and needs no memory.
local function on_a_primary()
  if not waits then
    redis.call('HDEL', L, '')
  end
end

local head = not holder and redis.call('ZRANGE', Q, 0, 0)[1]
local queue = (holder or head) and queue_at(now)
local client = queue and string.match(owner, '^(.*):')
if holder then
  -- A hash with a mode is a read-write lock.
  if redis.call('HEXISTS', L, 'mode') == 1 then
    return redis.error_reply('WRONGTYPE the key holds a read-write lock')
  end
  on_a_primary()
  local ttl = redis.call('PTTL', L)
  return {1, now, ttl, string.sub(holder, 1, 256), waits and queue.enqueue(client) or -1}
end

-- A non-blocking attempt may jump the queue, at most twice per head.
local held_up = head and head ~= client and (waits or not may_jump(redis.call('HGET', S, 'barged')))
if held_up and queue.is_there(head) then
  on_a_primary()
  return {3, now, waits and queue.enqueue(client) or -1}
end
if held_up then
  -- What follows may end in an error, and an error changes nothing.
  local last = redis.call('GET', T)
  if last and not last_token(last, block) then
    return redis.error_reply(NO_TOKEN)
  end
  local before = head
  queue.front().drop_gone(client, waits and client)
  head = redis.call('ZRANGE', Q, 0, 0)[1]
  held_up = head and head ~= client and (waits or head == before)
  if held_up then
    return {3, now, waits and queue.enqueue(client) or -1}
  end
end

local token = mint(T, now, ARGV[4], block)
if not token then
  return redis.error_reply(NO_TOKEN)
end
-- What might fail, on a key that is none of ours, comes first.
if head and head ~= client then
  redis.call('HINCRBY', S, 'barged', 1)
  queue.keep()
elseif head and waits then
  queue.leave(client, 0)
  queue.moved_up(0, false, client)
end
redis.call('HSET', L, owner, '1')
redis.call('PEXPIRE', L, lease)
return {0, now, token}
