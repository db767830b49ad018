-- Takes several locks, all of them or none, without waiting. One owner names one acquire of one lock, so that a retry finds its
-- own fields and changes nothing.
--
-- KEYS[4i-3]  lock i: HASH with one field <owner> -> 1 (Redisson's RLock)
-- KEYS[4i-2]  its last fencing token: see token.lua
-- KEYS[4i-1]  Q of lock i, KEYS[4i]  its S: see queue.lua
-- ARGV[1]     not after, server time in us: later than this the request is void
-- ARGV[2]     lease in ms
-- ARGV[3]     ms for which a token key outlives this: see acquire.lua
-- ARGV[4]     1 to jump the queues as a non-blocking attempt may, at most twice per head; 0 to take no lock that others wait for
-- ARGV[4+i]   owner of lock i, <client>:<n>; all of one client
--
-- Reply    now us, and for each lock three items:
--          0, token, ''    granted, as are all the others
--          1, ttl ms, holder  busy; ttl -1: a foreign key without expiry; of a holder its first 256 bytes
--          2, 0, ''        too late, nothing done
--          3, 0, ''        free, but others come first
--          4, 0, ''        free, or its own from an earlier attempt, and not taken because of another lock
--          5, 0, ''        the key, its token or its queue is none of a lock's
--
-- Keeps I1, I2, I3, I5 and I6 for each lock. All reading comes before the first change, so that nothing is taken if anything is
-- in the way: a type, or memory, of which the first token needs some.
local lease, ttl, jumps = ARGV[2], ARGV[3], ARGV[4] == '1'
local count = #KEYS / 4
local now = clock()
local replies = {now}

-- What is said of lock i.
local function say(i, code, number, text)
  replies[3 * i - 1], replies[3 * i], replies[3 * i + 1] = code, number, text
end

-- A command that only reads; nil when the key holds something else.
local function read(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then
    return reply
  end
  if string.find(reply.err, 'WRONGTYPE', 1, true) then
    return nil
  end
  return redis.call(...)
end

-- Of each lock that can be taken: whether it is held by its owner already, and whether a head is jumped.
local own, jumped = {}, {}

-- Says what is the matter with lock i, without a change; whether it can be taken.
local function look(i)
  local owner = ARGV[4 + i]
  L, Q, S = KEYS[4 * i - 3], KEYS[4 * i - 1], KEYS[4 * i]
  local holder = read('HRANDFIELD', L)
  if holder == nil or holder and holder ~= owner and redis.call('HEXISTS', L, 'mode') == 1 then
    return say(i, 5, 0, '')
  end
  if holder and holder ~= owner then
    -- As in acquire.lua: refused by a primary only.
    redis.call('HDEL', L, '')
    return say(i, 1, redis.call('PTTL', L), string.sub(holder, 1, 256))
  end
  local last = read('GET', KEYS[4 * i - 2])
  own[i] = holder == owner
  if last == nil or last and not (own[i] and last_given(last, 1) or not own[i] and last_token(last, 1)) then
    return say(i, 5, 0, '')
  end
  local heads = not own[i] and read('ZRANGE', Q, 0, 0)
  if heads == nil then
    return say(i, 5, 0, '')
  end
  local head = heads and heads[1]
  if head and head ~= string.match(owner, '^(.*):') then
    local barged = read('HGET', S, 'barged')
    if barged == nil then
      return say(i, 5, 0, '')
    end
    if not jumps or not may_jump(barged) then
      redis.call('HDEL', L, '')
      return say(i, 3, 0, '')
    end
    jumped[i] = true
  end
  say(i, 4, 0, '')
  return true
end

local all = now <= tonumber(ARGV[1])
for i = 1, count do
  if now > tonumber(ARGV[1]) then
    say(i, 2, 0, '')
  elseif not look(i) then
    all = false
  end
end
if not all then
  return replies
end

for i = 1, count do
  local T = KEYS[4 * i - 2]
  say(i, 0, own[i] and minted(T, now, ttl, 1) or mint(T, now, ttl, 1), '')
  if jumped[i] then
    Q, S = KEYS[4 * i - 1], KEYS[4 * i]
    redis.call('HINCRBY', S, 'barged', 1)
    queue_at(now).keep()
  end
end
for i = 1, count do
  L = KEYS[4 * i - 3]
  if not own[i] then
    redis.call('HSET', L, ARGV[4 + i], '1')
    redis.call('PEXPIRE', L, lease)
  elseif redis.call('PTTL', L) < tonumber(lease) then
    redis.call('PEXPIRE', L, lease)
  end
end
return replies
