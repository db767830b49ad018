-- Takes a lock, or says what is in the way. One owner names one attempt, so that a retry finds its own field and changes nothing.
--
-- KEYS[1]  L, the lock: HASH with one field <owner> -> 1 (Redisson's RLock)
-- KEYS[2]  T, its last fencing token: STRING, decimal (Redisson's RFencedLock)
-- KEYS[3]  Q, KEYS[4]  S: see queue.lua
-- ARGV[1]  owner, <client>:<n>
-- ARGV[2]  lease in ms
-- ARGV[3]  not after, server time in us: later than this the request is void
-- ARGV[4]  ms for which the token key is to outlive its last change, at least half of it; 0 = for ever
-- ARGV[5]  how many tokens to reserve
-- ARGV[6]  1 to stand in the queue when it is not to be had, 0 to try only
--
-- Reply    {0, now us, token}                 granted; the reserved tokens are this one and those that follow it
--          {1, now us, ttl ms, holder, rank}  busy; ttl -1: a foreign key without expiry; rank -1: does not wait
--          {2, now us}                        too late, nothing done
--          {3, now us, rank}                  free, but others come first
--
-- Keeps I1 (one owner), I2 (always a TTL), I3 (tokens increase: the server's clock in us, or the last token + 1), I5, I6.
-- Numbers stay below 2^53, where a Lua number is exact.
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
  local before = redis.call('SET', T, string.format('%.0f', now + block - 1), 'KEEPTTL', 'GET')
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
  -- Once in each half of its time the key's expiry is put off. A token key without one belongs to a fleet that also runs
  -- RFencedLock: it never gets one from us.
  local half = tonumber(ARGV[4]) * 500
  if math.floor(last / half) ~= math.floor(now / half) and redis.call('PTTL', T) ~= -1 then
    redis.call('PEXPIRE', T, ARGV[4])
  end
  return token
end

local function no_token()
  return redis.error_reply('WRONGTYPE the token key holds no token')
end

-- The tokens that this attempt got when it was first carried out, or others if the server has forgotten them.
local function same_again()
  local last = redis.call('GET', T)
  if not last then
    return mint()
  end
  last = string.match(last, '^%d+$') and tonumber(last)
  return last and last >= block and last - block + 1
end

local holder = redis.call('HRANDFIELD', L)
if holder == owner then
  local token = same_again()
  if not token then
    return no_token()
  end
  if redis.call('PTTL', L) < tonumber(lease) then
    redis.call('PEXPIRE', L, lease)
  end
  return {0, now, token}
end

local client = string.match(owner, '^(.*):')

-- Joins the queue, or says again that it waits; its rank. The entry in front may belong to a process that is gone: one that has
-- missed several looks is dropped.
local function line_up()
  local rank = stay(client, now)
  if not rank then
    return join(client, now)
  end
  if rank > 0 then
    local front = redis.call('ZRANGE', Q, rank - 1, rank - 1)[1]
    if silence(front, now) >= SILENCE_MS then
      leave(front)
      rank = rank - 1
      if rank <= 1 then
        moved_up(rank, now, true, client)
      end
    end
  end
  return rank
end

if holder then
  local ttl = redis.call('PTTL', L)
  return {1, now, ttl, holder, waits and line_up() or -1}
end

local head = redis.call('ZRANGE', Q, 0, 0)[1]
-- A try may overtake those who wait, but not the same head for ever.
local held_up = head and head ~= client and (waits or tonumber(redis.call('HGET', S, 'barged') or 0) >= 2)
if held_up then
  if silence(head, now) >= HEAD_SILENCE_MS then
    -- What follows may end in an error, and an error changes nothing.
    local last = redis.call('GET', T)
    if last and not number(last) then
      return no_token()
    end
    leave(head)
    moved_up(0, now, true, waits and client)
    head = redis.call('ZRANGE', Q, 0, 0)[1]
    held_up = waits and head and head ~= client
  end
  if held_up then
    return {3, now, waits and line_up() or -1}
  end
end

local token = mint()
if not token then
  return no_token()
end
-- What might fail, on a key that is none of ours, comes first.
if head == client and waits then
  leave(client)
  moved_up(0, now, false, client)
elseif head and head ~= client then
  redis.call('HINCRBY', S, 'barged', 1)
  keep()
end
redis.call('HSET', L, owner, '1')
redis.call('PEXPIRE', L, lease)
return {0, now, token}
