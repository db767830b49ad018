-- The jobs of a delayed queue. Stands behind wants.lua, in front of each script that has to do with them.
--
-- KEYS[1]  M  HASH    id -> `<place><due ms> <rank> <deliveries> <at most> <bytes> <reason><payload>`. Its place is w: it waits, in R,
--                     or a delivery has it, in O and F; d: dead, in X. Deliveries: those that have ended, and count. Bytes: of the reason
--                     why it is dead
-- KEYS[2]  D  see once.lua
-- KEYS[3]  R  ZSET    <rank><id> of a job that waits -> when it is due, server ms; once that is past, its precedence, below zero
-- KEYS[4]  F  ZSET    owner of a delivery -> when its lease ends, server ms; it is over at that ms already
-- KEYS[5]  O  HASH    owner of a delivery -> `<fencing token> <id>`
-- KEYS[6]  X  ZSET    id of a dead job -> since when, server ms
-- KEYS[7]  N  STRING  the last number that was given out: of an arrival or a fencing token
-- KEYS[8]  Q, KEYS[9]  S: see queue.lua and wants.lua
-- ARGV[1]  the name of the queue
--
-- A rank is 20 hexadecimal digits: four of 32767 less the priority, two of the due time modulo 256, and 14 of the number of its
-- arrival. So jobs that are due in the same ms are in the order of their priority, and then of their arrival; and jobs of one precedence,
-- which share the priority and the rest of the due time, in the order of their due times. Numbers are the server's time in us, or more:
-- each is above all before it.
--
-- A job is in exactly one of R, F and X, and a delivery leaves what M has of it as it is until it ends. None of the keys but N and D
-- has a time to live: they go with their last job.
local M, R, F, O, X, N = KEYS[1], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
L = ARGV[1]
-- N outlives its last use by so much.
local IDLE_MS = '86400000'
-- How many deliveries that are over one script takes back.
local RECLAIMED = 50
-- The most jobs that one script removes or moves, or finds to be due.
local REMOVED = 200
local RANK = 20
-- Why a delivery is over that nobody has ended.
local LOST = 'its lease ran out'
-- A new head looks by itself within so much: it need not be told of what is due later.
local SOON_MS = 2100

-- Fails because a key holds something else. A server from 7.0 on takes the code of an error from a table only; an older one fails over
-- a table.
local function refuse(why)
  error(redis.REDIS_VERSION and {err = why} or why, 0)
end

-- The words of what M has of a job, and where its reason begins; nil when it is no job. Longer numbers than these no version writes:
-- they would be written back in another form.
local function words(text)
  local place, due, rank, deliveries, most, bytes, at = string.match(text, '^([wd])(%d+) (%x+) (%d+) (%d+) (%d+) ()')
  if place and #due <= 13 and #rank == RANK and #deliveries <= 9 and #most <= 9 and #bytes <= 9 then
    return place, due, rank, deliveries, most, bytes, at
  end
end

-- Takes apart what M has of a job. When it is due, how often it may be delivered and its rank are as they are written.
local function parse(text)
  local place, due, rank, deliveries, most, bytes, at = words(text)
  if not place or at + bytes > #text + 1 then
    refuse('WRONGTYPE the key holds no jobs')
  end
  return {
    place = place, due = due, rank = rank, deliveries = tonumber(deliveries), most = most, payload = string.sub(text, at + bytes),
  }
end

-- The rank of a job that is due at another time than before.
local function rank_at(rank, due)
  return string.sub(rank, 1, 4) .. string.format('%02x', due % 256) .. string.sub(rank, 7)
end

-- The score of a job that is due: by its priority, and then by its due time. 2^36 times 256 ms are more than any due time.
local function precedence(rank, due)
  local urgency = tonumber(string.sub(rank, 1, 4), 16) or refuse('WRONGTYPE the key holds no jobs')
  return (urgency - 65536) * 68719476736 + math.floor(due / 256)
end

-- The score of a job that waits.
local function waiting_score(rank, due, ms)
  return due <= ms and precedence(rank, due) or due
end

-- Gives its precedence to each job that has become due: to the earliest, REMOVED at most.
local function promote(ms)
  local due = redis.call('ZRANGEBYSCORE', R, 0, ms, 'WITHSCORES', 'LIMIT', 0, REMOVED)
  if #due == 0 then
    return
  end
  local ready = {}
  for at = 1, #due, 2 do
    ready[at], ready[at + 1] = precedence(due[at], due[at + 1]), due[at]
  end
  redis.call('ZREM', R, '')
  redis.call('ZADD', R, 'XX', unpack(ready))
end

-- What M has of a job. `counts`: `<deliveries> <at most>`.
local function entry(place, due, rank, counts, reason, payload)
  return place .. due .. ' ' .. rank .. ' ' .. counts .. ' ' .. #reason .. ' ' .. reason .. payload
end

-- The same of a job that waits again.
local function waiting_entry(job, due, deliveries)
  return entry('w', due, job.rank, deliveries .. ' ' .. job.most, '', job.payload)
end

-- Where a first write needs no memory, a script may go on on a server that is full. And where the access rules refuse one of these,
-- it has done nothing yet.
local function begin()
  redis.call('ZREM', F, '')
  redis.call('HDEL', O, '')
end

-- Fails where the access rules refuse ZADD, or a server that is full refuses the first write: adds nothing.
local function may_add(key)
  redis.call('ZADD', key, 'XX', 0, '')
end

-- Numbers above all before them, so many, one after the other: the first.
local function next_numbers(now, count)
  local last = tonumber(redis.call('GET', N) or '0')
  -- Above 2^53 the next one would be the same, and its rank too long; NaN is neither.
  if not last or not (last < 9007199254740992) then
    refuse('WRONGTYPE the key holds no number')
  end
  local first = math.max(last + 1, now)
  redis.call('SET', N, string.format('%d', first + count - 1), 'PX', IDLE_MS)
  return first
end

-- What a delivery is: its fencing token and its job. Nil when there is no such delivery.
local function delivery(owner)
  local held = redis.call('HGET', O, owner)
  if held then
    return string.match(held, '^(%d+) (.*)$')
  end
end

-- When the first of the jobs that wait is due; below zero when it was found to be, and nil when none waits.
local function first_due()
  return tonumber(redis.call('ZRANGE', R, 0, 0, 'WITHSCORES')[2])
end

-- Who waits first, and when the first job is due, which only that one has to know. A waiter's key that is somebody else's is nobody's
-- business but the waiters'.
local function head_and_first()
  local head = redis.pcall('ZRANGE', Q, 0, 0)[1]
  return head, head and first_due()
end

-- How many jobs are due.
local function ready(ms)
  return redis.call('ZCOUNT', R, '-inf', ms)
end

-- Ends a delivery: its job waits again, from `due` on if that is given, or is dead. `undelivered`: the delivery does not count.
-- Each command before the last two leaves the delivery as it is, should the server refuse it. True when the job is dead.
local function put_back(owner, id, ms, due, undelivered, why)
  local text = redis.call('HGET', M, id)
  local dead
  if text then
    local job = parse(text)
    local deliveries = job.deliveries + (undelivered and 0 or 1)
    dead = not undelivered and deliveries >= tonumber(job.most)
    may_add(dead and X or R)
    if dead then
      redis.call('HSET', M, id, entry('d', job.due, job.rank, deliveries .. ' ' .. job.most, why, job.payload))
      redis.call('ZADD', X, ms, id)
    else
      if due then
        job.due, job.rank = string.format('%d', due), rank_at(job.rank, due)
      end
      redis.call('HSET', M, id, waiting_entry(job, job.due, deliveries))
      redis.call('ZADD', R, waiting_score(job.rank, tonumber(job.due), ms), job.rank .. id)
    end
  end
  redis.call('ZREM', F, owner)
  redis.call('HDEL', O, owner)
  return dead
end

-- Takes back the deliveries whose lease is over, at most RECLAIMED.
local function reclaim(ms)
  local over = redis.call('ZRANGEBYSCORE', F, '-inf', ms, 'LIMIT', 0, RECLAIMED)
  if #over > 0 then
    begin()
  end
  for _, owner in ipairs(over) do
    local _, id = delivery(owner)
    if id then
      put_back(owner, id, ms, nil, false, LOST)
    else
      redis.call('ZREM', F, owner)
    end
  end
end

-- Tells a head when to ask. Not `free`: it would ask now as well, only to learn this.
local function tell_due(head, ms)
  return tell(head, 'due' .. string.format('%d', ms))
end

-- Jobs have come into R, of which the first was due at `before`: tells those that wait, if anybody does, of whom `head` is the first.
-- What comes after the change must not make an error of it.
local function announce(now, head, before)
  if not head then
    return
  end
  pcall(function()
    local queue = queue_at(now)
    local first = first_due()
    if first and first <= queue.ms then
      wanting(math.huge).wake(queue, ready(queue.ms), 0)
    elseif first and (not before or first < before) then
      -- The head sleeps until the first is due.
      if tell_due(head, first - queue.ms) == 0 then
        queue.front().pass_on('')
      end
    end
  end)
end

-- A waiter is the head from now on, and does not know yet when the first job is due.
local function tell_new_head(ms, caller)
  local head = redis.call('ZRANGE', Q, 0, 0)[1]
  local first = head and head ~= caller and first_due()
  if first and first > ms and first < ms + SOON_MS then
    tell_due(head, first - ms)
  end
end
