-- Takes a lock, or says what is in the way. One owner names one acquire, so that a retry finds its own field and changes nothing.
--
-- KEYS[1]  L, the lock: HASH with one field <owner> -> 1 (Redisson's RLock)
-- KEYS[2]  T, its last fencing token: STRING, decimal (Redisson's RFencedLock)
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
-- Keeps I1 (one owner), I2 (always a TTL), I3 (tokens increase: the server's clock in us, or the last token + 1), I5, I6.
-- Numbers stay below 2^53, where a Lua number is exact.
local NO_TOKEN = 'WRONGTYPE the token key holds no token'
local T = KEYS[2]
local owner, lease, block, waits = ARGV[1], ARGV[2], tonumber(ARGV[5]), ARGV[6] == '1'
local now = clock()
if now > tonumber(ARGV[3]) then
  return {2, now}
end

-- The number that a token key's text stands for; false when it is none, or leaves no room for larger ones.
local function number(text)
  local last = string.match(text, '^%d+$') and tonumber(text)
  return last and last <= 9007199254740991 - block and last
end

-- Reserves tokens larger than all before; the first, or false when the key does not allow it.
local function mint()
  local forever = ARGV[4] == '0'
  local before = redis.call('SET', T, now + block - 1, 'KEEPTTL', 'GET')
  if not before then
    if not forever then
      redis.call('PEXPIRE', T, ARGV[4])
    end
    return now
  end
  local last = number(before)
  if not last then
    redis.call('SET', T, before, 'KEEPTTL')
    return false
  end
  local token = now
  if last >= now then
    token = last + 1
    redis.call('SET', T, string.format('%.0f', token + block - 1), 'KEEPTTL')
  end
  if forever then
    redis.call('PERSIST', T)
    return token
  end
  -- The expiry is put off once in each half of the token's time to live. A token ahead of the clock, which was set back, adds what
  -- it lies ahead: the key has to outlive the clock's way back to it. A token key without expiry belongs to a fleet that also runs
  -- RFencedLock and never gets one from us.
  local half = tonumber(ARGV[4]) * 500
  if math.floor(last / half) ~= math.floor(now / half) and redis.call('PTTL', T) ~= -1 then
    redis.call('PEXPIRE', T, ARGV[4] + math.ceil((token - now) / 1000))
  end
  return token
end

local holder = redis.call('HRANDFIELD', L)
if holder == owner then
  -- The tokens that this attempt got when it was first carried out, or others if the server has forgotten them.
  local last = redis.call('GET', T)
  local token
  if last then
    last = string.match(last, '^%d+$') and tonumber(last)
    token = last and last >= block and last - block + 1
  else
    token = mint()
  end
  if not token then
    return redis.error_reply(NO_TOKEN)
  end
  if redis.call('PTTL', L) < tonumber(lease) then
    redis.call('PEXPIRE', L, lease)
  end
  return {0, now, token}
end

local head = not holder and redis.call('ZRANGE', Q, 0, 0)[1]
local queue = (holder or head) and queue_at(now)
local client = queue and string.match(owner, '^(.*):')
if holder then
  local ttl = redis.call('PTTL', L)
  return {1, now, ttl, string.sub(holder, 1, 256), waits and queue.enqueue(client) or -1}
end

-- A non-blocking attempt may jump the queue, at most twice per head.
local held_up = head and head ~= client and (waits or tonumber(redis.call('HGET', S, 'barged') or 0) >= 2)
if held_up and queue.is_there(head) then
  return {3, now, waits and queue.enqueue(client) or -1}
end
if held_up then
  -- What follows may end in an error, and an error changes nothing.
  local last = redis.call('GET', T)
  if last and not number(last) then
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

local token = mint()
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
